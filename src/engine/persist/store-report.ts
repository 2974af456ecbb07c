import type { PoolClient } from 'pg';
import type { Notification } from '../../domain/notification.ts';
import { insertMessages } from '../../postgres/webhooks/messages.ts';
import { noteDue } from '../notifications/note-due.ts';
import type { Report, Reporter, Reporting } from '../notifications/reporter.ts';
import { throttle } from '../notifications/throttles.ts';
import { byHalves } from './by-halves.ts';

/** By which the parts of an entry are reported. */
export interface Reports {
  reporter: Reporter;
  reporting: Reporting;
}

/**
 * Makes messages of what is reported at once, and keeps the rest until it is due: in the client's transaction, which holds the
 * shard's cursor. What Postgres does not take is left out; the rows that it is about are stored all the same.
 */
export async function storeReport(
  client: PoolClient,
  reporter: Reporter,
  { notifications, completions, messagesFor }: Report,
): Promise<void> {
  const nowMs = reporter.now();
  const onFailed = (_item: unknown, reason: string): void => reporter.leaveOut(new Error(reason));
  const store = async (some: readonly Notification[]): Promise<void> => {
    const going = await throttle(client, some, nowMs);
    await insertMessages(client, going.flatMap(messagesFor), nowMs);
  };
  await byHalves(client, notifications, { store, onFailed });
  await byHalves(client, completions, { store: (some) => noteDue(client, some), onFailed });
}
