/** Counts of messages, by day, kind and medium: the sums of `COUNTED.messages` in `analytics_days`. */
import type { Medium } from './medium.ts';
import type { MessageKind } from './message-variables.ts';

/** A message counts once under each that applies to it. Sums have indexes of these lists, so they only grow at their ends. */
export const MESSAGE_COUNTS = [
  'due',
  'sent',
  'delivered',
  'bounced',
  'complained',
  'opened',
  'clicked',
  'unsubscribed',
  'withheld',
] as const;
export type MessageCount = (typeof MESSAGE_COUNTS)[number];
export const COUNTED_KINDS: readonly MessageKind[] = [
  'streak_reminder',
  'achievement_completed',
  'reactivation',
  'recap',
];
export const COUNTED_MEDIA: readonly Medium[] = ['email', 'push'];

/** Parts of a medium: more than there will ever be counts. */
export const PARTS_A_MEDIUM = 100;

/** The kind, medium and count of a sum; `null` if a later version wrote it. */
export function messageCountOf(counted: {
  subject: number;
  part: number;
}): { kind: MessageKind; medium: Medium; count: MessageCount } | null {
  const { subject, part } = counted;
  const kind = COUNTED_KINDS[subject - 1];
  const medium = COUNTED_MEDIA[Math.floor(part / PARTS_A_MEDIUM)];
  const count = MESSAGE_COUNTS[(part % PARTS_A_MEDIUM) - 1];
  return kind === undefined || medium === undefined || count === undefined ? null : { kind, medium, count };
}
