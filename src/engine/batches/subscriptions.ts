import type { BatchMetricEvent } from '../../domain/event.ts';

/**
 * The first event of a batch that subscribes a user to e-mails who has no address then: none on record, and none that
 * an event before it, or itself, brings along. Null: there is none. Only users whose events subscribe them before
 * anything is said of their address are looked up.
 */
export async function firstWithoutAddress(
  events: readonly BatchMetricEvent[],
  hasAddress: (userIds: string[]) => Promise<ReadonlySet<string>>,
): Promise<number | null> {
  if (!events.some(({ user }) => user.subscribeToEmails === true)) return null;
  const asked = new Set<string>();
  const known = new Set<string>();
  for (const { user } of events) {
    if (user.subscribeToEmails === true && !user.email && !known.has(user.id)) asked.add(user.id);
    if (user.email || user.subscribeToEmails === false) known.add(user.id);
  }
  const reachable = new Set(asked.size === 0 ? [] : await hasAddress([...asked]));
  for (const [index, { user }] of events.entries()) {
    if (user.email) reachable.add(user.id);
    if (user.subscribeToEmails === true && !reachable.has(user.id)) return index;
    if (user.subscribeToEmails === false) reachable.delete(user.id);
  }
  return null;
}
