import { type QuietHours, quietUntilMs } from '../../domain/notifications/quiet-hours.ts';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import { dayIn } from '../../domain/zone.ts';
import { HIDDEN_BY } from '../../packed/user-fields.ts';
import type { User } from '../../rules/user.ts';
import { isReachable } from '../notifications/due/email-kinds.ts';

export interface RecipientRules {
  /** Share of users in the control group, 0 to 1. */
  controlShare: number;
  quietHours: QuietHours | null;
  isSuppressed: (address: string) => boolean;
}

/** The address and local day of an e-mail that may be sent now, why it is never sent, or when its quiet hours end. */
export type Recipient = { address: string; localDay: number } | { drop: string } | { waitUntilMs: number };

/**
 * Decides about an e-mail with the user's state when it is sent, which may be hours after it fell due. `state`: `undefined`
 * if the user is gone. Users who hide themselves from leaderboards still get e-mails; those whom an administrator hides
 * do not.
 */
export function recipientOf(
  { userId, state, kind }: { userId: string; state: User | undefined; kind: MessageKind },
  { controlShare, quietHours, isSuppressed }: RecipientRules,
  nowMs: number,
): Recipient {
  if (state === undefined) return { drop: 'the user was deleted' };
  if ((state.hidden & HIDDEN_BY.admin) !== 0) return { drop: 'the user is hidden' };
  if (state.email === null || !isReachable({ userId, state }, kind, controlShare))
    return { drop: 'the user has no address, unsubscribed, or is in the control group' };
  if (isSuppressed(state.email.toLowerCase())) return { drop: 'the address is suppressed' };
  const waitUntilMs = quietHours === null ? null : quietUntilMs(quietHours, state.zone, nowMs);
  return waitUntilMs === null ? { address: state.email, localDay: dayIn(state.zone, nowMs) } : { waitUntilMs };
}
