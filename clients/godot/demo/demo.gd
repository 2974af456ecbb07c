extends VBoxContainer
# A button that tracks events, also without a network; what they changed, and the user's place on the leaderboard.
# The metric and the leaderboard are those of Laurel's demo configuration.

const METRIC := "flashcards-flipped"
const LEADERBOARD := "flips-of-the-week"

onready var _url: LineEdit = $Url
onready var _key: LineEdit = $Key
onready var _user: LineEdit = $User
onready var _status: Label = $Status
onready var _log: RichTextLabel = $Log


func _ready() -> void:
	_url.text = OS.get_environment("LAUREL_URL") if OS.has_environment("LAUREL_URL") else "http://localhost:8080"
	_key.text = OS.get_environment("LAUREL_KEY")
	_user.text = OS.get_environment("LAUREL_USER")
	for name in ["event_done", "event_refused", "send_failed", "queue_changed", "achievement_completed"]:
		var _error := Laurel.connect(name, self, "_on_" + name)


func _on_Connect_pressed() -> void:
	var error = Laurel.configure({"url": _url.text, "key": _key.text, "user": _user.text})
	_status.text = str(error) if error != null else "%d events wait" % Laurel.queue_size()


func _on_Flip_pressed() -> void:
	Laurel.track(METRIC)


func _on_Leaderboard_pressed() -> void:
	var page = yield(Laurel.leaderboard(LEADERBOARD).around(_user.text), "completed")
	if page.error != null:
		_show(str(page.error))
		return
	for place in page.data.rankings:
		_show("%d. %s: %d" % [place.rank, place.userId, place.value])


func _on_event_done(event: Dictionary, result: Dictionary) -> void:
	_show("%s: %s in all" % [event.metric, result.total])


func _on_event_refused(event: Dictionary, error) -> void:
	_show("%s was refused: %s" % [event.metric, error])


func _on_send_failed(error) -> void:
	_show(str(error))


func _on_queue_changed(size: int) -> void:
	_status.text = "%d events wait" % size


func _on_achievement_completed(achievement: Dictionary) -> void:
	_show("Achievement: " + achievement.name)


func _show(line: String) -> void:
	_log.add_text(line + "\n")
