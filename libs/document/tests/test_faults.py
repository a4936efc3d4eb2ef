from penstock.document.faults import Fault, InvalidDocumentError, Place, path_text, suggestion


def test_paths_read_as_people_write_them() -> None:
    path = ("event_types", "post.created", "required", 1)
    assert path_text(path) == "event_types.post.created.required[1]"
    assert path_text(()) == ""


def test_the_close_word_is_suggested() -> None:
    assert suggestion("requird", ["about", "required"]) == "did you mean 'required'?"


def test_where_no_word_is_close_all_are_listed() -> None:
    assert suggestion("zzz", ["key", "about"]) == "known here: about, key"
    assert suggestion("zzz", []) == ""


def test_the_error_lists_faults_in_the_order_of_the_document_and_once() -> None:
    late = Fault(Place(10, 1), "b", "is late")
    early = Fault(Place(9, 1), "a", "is early", "wait")
    error = InvalidDocumentError("x.yaml", [late, early, late])
    assert str(error) == "x.yaml has 2 faults:\n  x.yaml:9:1: a: is early; wait\n  x.yaml:10:1: b: is late"
