pytest_plugins = ["penstock.embedded.pytest_plugin"]
