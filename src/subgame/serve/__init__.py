"""The workbench in a browser: `subgame serve`.

| module | what it contains |
| --- | --- |
| `app` | the pages, and the API behind them once it is imported |
| `api`, `api_…` | the JSON API, as a FastAPI application |
| `guard` | what a request must satisfy before it is looked at: host, origin, size |
| `store` | jobs, tables, games and ranges in SQLite, and the folders of files |
| `jobs`, `worker` | the queue of solves, and the process that runs one of them |
| `spots`, `gadgets`, `story`, `tables` | what the pages show |
| `public_trees`, `tree_views`, `range_views` | games as public trees |

It needs the extra ``web``: ``pip install 'subgame[web]'``. The front end in ``static`` is
hand-written and has no build step; the libraries in ``static/vendor`` have their licences beside
them.
"""
