import pytest
from penstock.demo.__main__ import main


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--duration", "0"], "must be more than 0"),
        (["--duration", "soon"], "'soon' is not a number of seconds, such as 30"),
        (["--duration", "nan"], "must be more than 0"),
        (["--devices", "many"], "'many' is not a whole number, such as 150"),
        (["--devices", "0"], "must be from 1 to 5,000"),
        (["--devices", "5001"], "must be from 1 to 5,000"),
    ],
)
def test_bad_options_are_explained(arguments: list[str], fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert fault in capsys.readouterr().err
