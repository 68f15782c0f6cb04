"""What run logs say, in numbers: which runs belong together, who is ahead, by how much, at what cost. Draws nothing."""

from rota.analysis._balance import Reached
from rota.analysis._bandit_outcomes import BanditOutcome, bandit_outcomes, beta_density, by_utility
from rota.analysis._branch_rounds import (
    JOINT_TRIES,
    KEPT_TRY,
    LOSS_AFTER,
    LOSS_BEFORE,
    BranchRounds,
    read_rounds,
    target_of,
)
from rota.analysis._checkpoint_scores import score, scores
from rota.analysis._chosen_on_dev import chosen_on_dev
from rota.analysis._claim import Claim, read_claims
from rota.analysis._convergence import Convergence, convergence, uncertainty_trends
from rota.analysis._costs import COST_COLUMNS, Cost, all_costs, used_cost_columns
from rota.analysis._data_use import RowsUsed, data_used
from rota.analysis._decide import Decided, Predicted, decide, holm
from rota.analysis._fairness import other_fields
from rota.analysis._foresight import Foresight, foresight
from rota.analysis._group_averages import NamedAverage, named_averages
from rota.analysis._group_similarity import Aligned, GroupSimilarity
from rota.analysis._groups import Group, counted_tasks, group_runs, method_of, run_names, tasks_of
from rota.analysis._headline import Headline, Overview, headline, overview
from rota.analysis._headroom_table import Measure, MixtureTable, read_mixtures
from rota.analysis._log_accounts import LogAccount, MixtureAccounts, mixture_accounts
from rota.analysis._mean_curves import MeanCurve, mean_curve, median_curves
from rota.analysis._measures import MEASURES, RunMeasure
from rota.analysis._outlook import Outlook, outlook
from rota.analysis._paired import Difference, paired
from rota.analysis._peaks import SMOOTHING_WINDOW, smoothed
from rota.analysis._pool_accounts import DataShare, PoolAccount, TaskUse, pool_accounts
from rota.analysis._power import power, power_of_alike, seeds_for
from rota.analysis._ranking import Ranking, rank
from rota.analysis._registration import Registration, begun_runs, first_start
from rota.analysis._rerun import train_command
from rota.analysis._run_history import AVERAGE, Key, RunHistory, read_history
from rota.analysis._score_table import GroupScore, ScoreTable, all_scores
from rota.analysis._search_records import SearchRecord, comparable_searches, finished_trial, read_searches
from rota.analysis._setting_fields import differing_fields, field_values, setting_as_text, setting_fields
from rota.analysis._shares import ShareCourses, departure, plain_mixtures, share_courses
from rota.analysis._spreads import Spread, spread, task_spread
from rota.analysis._target_scores import TargetScores, target_scores
from rota.analysis._trained_on import ExposureOfGroup, all_exposures
from rota.analysis._transfer_table import Pairing, Ratio, TransferEffect, TransferTable, read_transfer, transfer_table
from rota.analysis._verdicts import Verdict, judge

__all__ = [
    "AVERAGE",
    "COST_COLUMNS",
    "JOINT_TRIES",
    "KEPT_TRY",
    "LOSS_AFTER",
    "LOSS_BEFORE",
    "MEASURES",
    "SMOOTHING_WINDOW",
    "Aligned",
    "BanditOutcome",
    "BranchRounds",
    "Claim",
    "Convergence",
    "Cost",
    "DataShare",
    "Decided",
    "Difference",
    "ExposureOfGroup",
    "Foresight",
    "Group",
    "GroupScore",
    "GroupSimilarity",
    "Headline",
    "Key",
    "LogAccount",
    "MeanCurve",
    "Measure",
    "MixtureAccounts",
    "MixtureTable",
    "NamedAverage",
    "Outlook",
    "Overview",
    "Pairing",
    "PoolAccount",
    "Predicted",
    "Ranking",
    "Ratio",
    "Reached",
    "Registration",
    "RowsUsed",
    "RunHistory",
    "RunMeasure",
    "ScoreTable",
    "SearchRecord",
    "ShareCourses",
    "Spread",
    "TargetScores",
    "TaskUse",
    "TransferEffect",
    "TransferTable",
    "Verdict",
    "all_costs",
    "all_exposures",
    "all_scores",
    "bandit_outcomes",
    "begun_runs",
    "beta_density",
    "by_utility",
    "chosen_on_dev",
    "comparable_searches",
    "convergence",
    "counted_tasks",
    "data_used",
    "decide",
    "departure",
    "differing_fields",
    "field_values",
    "finished_trial",
    "first_start",
    "foresight",
    "group_runs",
    "headline",
    "holm",
    "judge",
    "mean_curve",
    "median_curves",
    "method_of",
    "mixture_accounts",
    "named_averages",
    "other_fields",
    "outlook",
    "overview",
    "paired",
    "plain_mixtures",
    "pool_accounts",
    "power",
    "power_of_alike",
    "rank",
    "read_claims",
    "read_history",
    "read_mixtures",
    "read_rounds",
    "read_searches",
    "read_transfer",
    "run_names",
    "score",
    "scores",
    "seeds_for",
    "setting_as_text",
    "setting_fields",
    "share_courses",
    "smoothed",
    "spread",
    "target_of",
    "target_scores",
    "task_spread",
    "tasks_of",
    "train_command",
    "transfer_table",
    "uncertainty_trends",
    "used_cost_columns",
]
