def write_report(runs, page):
    page.write_text("stub")
