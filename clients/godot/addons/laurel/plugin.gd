tool
extends EditorPlugin
# Adds the client to the project as the autoload `Laurel`.


func enable_plugin() -> void:
	add_autoload_singleton("Laurel", "res://addons/laurel/laurel.gd")


func disable_plugin() -> void:
	remove_autoload_singleton("Laurel")
