import type { BatchMetricEvent } from '../../domain/event.ts';

/**
 * Indexes of a batch's events that subscribe a user to e-mails who has no address then: none on record, and none from that event
 * or one before it. Only users whose events subscribe them before anything is said of their address are looked up.
 */
export async function eventsWithoutAddress(
  events: readonly BatchMetricEvent[],
  hasAddress: (userIds: string[]) => Promise<ReadonlySet<string>>,
): Promise<number[]> {
  if (!events.some(({ user }) => user.subscribeToEmails === true)) return [];
  const asked = new Set<string>();
  const known = new Set<string>();
  for (const { user } of events) {
    if (user.subscribeToEmails === true && !user.email && !known.has(user.id)) asked.add(user.id);
    if (user.email || user.subscribeToEmails === false) known.add(user.id);
  }
  const reachable = new Set(asked.size === 0 ? [] : await hasAddress([...asked]));
  const found: number[] = [];
  for (const [index, { user }] of events.entries()) {
    // A refused event changes nothing, so the user's later ones meet the same address.
    if (user.email) reachable.add(user.id);
    if (user.subscribeToEmails === true && !reachable.has(user.id)) found.push(index);
    if (user.subscribeToEmails === false) reachable.delete(user.id);
  }
  return found;
}
