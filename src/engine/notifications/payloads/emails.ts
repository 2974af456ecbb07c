import { dateOf } from '../../../domain/periods.ts';
import { isoTime, userPayloadJson, type UserJson } from './payload.ts';

/** Payload of `emails.recap_due`, due at `dueMs` (epoch ms), of a period from its first to its last day (epoch days). */
export const recapDue = (
  user: UserJson,
  { dueMs, fromDay, toDay }: { dueMs: number; fromDay: number; toDay: number },
): string =>
  userPayloadJson('emails.recap_due', user, {
    timestamp: isoTime(dueMs),
    recap: { periodStart: dateOf(fromDay), periodEnd: dateOf(toDay) },
  });

/** Payload of `emails.reactivation_due`, due at `dueMs` (epoch ms); `messageNumber`: from 1. */
export const reactivationDue = (
  user: UserJson,
  { dueMs, messageNumber, daysSinceLastActive }: { dueMs: number; messageNumber: number; daysSinceLastActive: number },
): string =>
  userPayloadJson('emails.reactivation_due', user, {
    timestamp: isoTime(dueMs),
    reactivation: { messageNumber, daysSinceLastActive },
  });
