import { type QuietHours, quietUntilMs } from '../../domain/notifications/quiet-hours.ts';
import type { MessageKind } from '../../domain/notifications/message-variables.ts';
import { dayIn } from '../../domain/zone.ts';
import { HIDDEN_BY } from '../../packed/user-fields.ts';
import type { User } from '../../rules/user.ts';
import { isReachable, isReachableByPush } from '../notifications/due/email-kinds.ts';

export interface RecipientRules {
  /** Share of users in the control group, 0 to 1. */
  controlShare: number;
  quietHours: QuietHours | null;
  isSuppressed: (address: string) => boolean;
}

/** The address and local day of an e-mail that may be sent now, why it is never sent, or when its quiet hours end. */
export type Recipient = { address: string; localDay: number } | { drop: string } | Waiting;

type Waiting = { waitUntilMs: number; reason: string };

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
  if (state.email === null || !isReachable(userId, state, kind, controlShare))
    return { drop: 'the user has no address, unsubscribed, or is in the control group' };
  if (isSuppressed(state.email.toLowerCase())) return { drop: 'the address is suppressed' };
  return quietUntil(quietHours, state, nowMs) ?? { address: state.email, localDay: dayIn(state.zone, nowMs) };
}

/** The user's device tokens and local day, why a push notification is never sent, or when its quiet hours end. */
export type PushRecipient = { tokens: string[]; localDay: number } | { drop: string } | Waiting;

/** Decides about a push notification as `recipientOf` does about an e-mail. */
export function pushRecipientOf(
  { userId, state, kind }: { userId: string; state: User | undefined; kind: MessageKind },
  { controlShare, quietHours }: Omit<RecipientRules, 'isSuppressed'>,
  nowMs: number,
): PushRecipient {
  if (state === undefined) return { drop: 'the user was deleted' };
  if ((state.hidden & HIDDEN_BY.admin) !== 0) return { drop: 'the user is hidden' };
  if (state.deviceTokens === null || !isReachableByPush(userId, state, kind, controlShare))
    return { drop: 'the user has no device, turned these notifications off, or is in the control group' };
  const tokens = [...new Set(JSON.parse(state.deviceTokens) as string[])];
  return quietUntil(quietHours, state, nowMs) ?? { tokens, localDay: dayIn(state.zone, nowMs) };
}

function quietUntil(quietHours: QuietHours | null, { zone }: User, nowMs: number): Waiting | null {
  const waitUntilMs = quietHours === null ? null : quietUntilMs(quietHours, zone, nowMs);
  return waitUntilMs === null ? null : { waitUntilMs, reason: 'quiet hours' };
}
