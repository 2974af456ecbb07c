-- How late events may come is a setting of each tenant, as streaks and all else of its configuration are. NULL: the defaults.
ALTER TABLE tenants ADD COLUMN event_settings jsonb;

UPDATE tenants
   SET event_settings = jsonb_build_object('lateEventDays', late_event_days, 'clientsMaySendLate', clients_may_send_late)
  FROM organisation
 WHERE late_event_days <> 35 OR clients_may_send_late;

ALTER TABLE organisation DROP COLUMN late_event_days, DROP COLUMN clients_may_send_late;
