-- What Expo says later about the push notifications that it took, and claims of messages in one statement.
-- docs/decisions/0050-one-push-notification-to-all-devices.md

CREATE TABLE push_receipts (
  message_id uuid NOT NULL REFERENCES email_messages (id) ON DELETE CASCADE,
  -- Expo's ID of the message to one device
  ticket text NOT NULL,
  tenant_no integer NOT NULL,
  -- of the device's token, which is removed from the user if the device is gone
  token_hash bytea NOT NULL,
  -- whether all devices that took the message have a receipt, so that their failure is that of the message
  decides boolean NOT NULL,
  sent_ms bigint NOT NULL,
  -- when it is asked for (next)
  due_ms bigint NOT NULL,
  PRIMARY KEY (message_id, ticket)
);
CREATE INDEX push_receipts_due ON push_receipts (tenant_no, due_ms);

-- Claims a message that waits for one attempt: 'claimed', 'gone' or 'limit'. See claimEmail.
CREATE FUNCTION claim_message(
  message uuid, tenant integer, recipient text, of_medium text, day integer, most integer, now_ms bigint, tried integer
) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  -- Two claims of one user count one after the other: each statement below sees what was committed before the lock.
  PERFORM pg_advisory_xact_lock(tenant, hashtext(recipient));
  IF (SELECT count(*) FROM email_messages
       WHERE tenant_no = tenant AND user_id = recipient AND local_day = day AND id <> message AND medium = of_medium
         AND status IN ('sending', 'sent', 'unknown')) >= most THEN
    RETURN 'limit';
  END IF;
  UPDATE email_messages SET status = 'sending', tries = tries + 1, due_ms = NULL, begun_ms = now_ms, local_day = day
   WHERE id = message AND status = 'waiting' AND tries = tried;
  RETURN CASE WHEN FOUND THEN 'claimed' ELSE 'gone' END;
END $$;
