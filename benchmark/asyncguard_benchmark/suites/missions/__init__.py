"""Missions: dialogues of several missions in the form of Multi-Mission Tool Bench and C3-Bench."""
