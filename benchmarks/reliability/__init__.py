"""Campaign of kills, crashes, fuzzing and full disks: no data is lost or silently wrong."""
