"""Write a page that replays exploration: one HTML file to look at, to mail, and to put on the web.

`data` collects the contents of the page, `beliefs` and `methods` the estimates and action values at every time. `page`
combines them with the files in `static`: JavaScript modules, a style sheet and a template. `inline` shows a page in a
notebook, and `person_runs` reads the runs that people download from one.
"""

from berlyne.watch.data import page_data
from berlyne.watch.inline import WatchPage
from berlyne.watch.page import page_template, render_page, script_safe_json, watch
from berlyne.watch.person_runs import PersonRun, PersonRuns, read_runs

__all__ = [
    "PersonRun",
    "PersonRuns",
    "WatchPage",
    "page_data",
    "page_template",
    "read_runs",
    "render_page",
    "script_safe_json",
    "watch",
]
