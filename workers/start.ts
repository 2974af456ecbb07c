import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { namesChannels } from '../src/postgres/revisions.ts';
import { SHARD_NUMBERS } from '../src/redis/keys.ts';
import { shardsWithEntries } from '../src/redis/outbox.ts';
import { startDelivery, type Delivery } from './delivery.ts';
import { type MessageSending, startMessages } from './messages.ts';
import type { Rounds } from '../src/pacing/rounds.ts';
import { BACKSTOP_MS, createBatches, createJobs, createPersisting, createSchedule } from './features.ts';
import { createWorkerCore, type WorkerCore, type WorkersOptions } from './worker-core.ts';

export type { WorkersOptions };

export interface Workers {
  /** Stores the outbox and closes all connections; stops storing after `timeoutMs`. Safe to call twice. */
  close(timeoutMs?: number): Promise<void>;
}

/** Delay after which the schedule asks again who listens to live streams. */
const LISTENED_WITHIN_MS = 500;

/** Starts a process's background work. Rejects if no Redis answers, or if one belongs to another Laurel. */
export async function startWorkers(options: WorkersOptions): Promise<Workers> {
  const ending = new AbortController();
  // One listener per shard that is being stored.
  setMaxListeners(0, ending.signal);
  const core = await createWorkerCore(options, ending.signal);
  const delivery = startDelivery(core, options.delivery ?? {});
  const emails = startMessages(core, options);
  const persisting = createPersisting(core, { delivery, options });
  const { persister } = persisting;
  const jobs = createJobs(core, { delivery, persister, options });
  const batches = createBatches(core, options);
  const schedule = createSchedule(core, { delivery, persister, jobs, options });
  wakeOnChanges(core, { delivery, emails, jobs, schedule });

  // If a step fails, later steps still run, because each closes its own connections.
  const all = async (closings: Promise<unknown>[]): Promise<void> => {
    for (const closed of await Promise.allSettled(closings)) {
      if (closed.status === 'rejected')
        core.log.warn({ err: closed.reason as unknown }, 'a part of the worker failed to stop cleanly');
    }
  };
  const finish = async (): Promise<void> => {
    await all([schedule.close()]);
    // The results of the last batch steps are stored too.
    await all([batches.close(), jobs.close()]);
    await all([persisting.close(), delivery.close(), emails.close()]);
    for (const shard of await shardsWithEntries(core.redis, SHARD_NUMBERS)) await persister.drain(shard, ending.signal);
  };
  const close = async (timeoutMs: number): Promise<void> => {
    ending.abort();
    await endWithin(timeoutMs, finish, core);
  };
  let closing: Promise<void> | undefined;
  return { close: (timeoutMs = 10_000) => (closing ??= close(timeoutMs)) };
}

/** Wakes work when a change may concern it, and when signals may have been lost. */
function wakeOnChanges(
  { changes, signals, guard, testClock }: WorkerCore,
  { delivery, emails, jobs, schedule }: { delivery: Delivery; emails: MessageSending; jobs: Rounds; schedule: Rounds },
): void {
  const wakeAll = (): void => {
    for (const each of [jobs, schedule]) each.wake();
  };
  const lookForAll = (): void => {
    wakeAll();
    delivery.lookForAll();
  };
  const wakeWithMessages = (): void => {
    wakeAll();
    emails.look();
  };
  signals.listen('jobs', (message) => (message === null ? lookForAll() : jobs.wake()), BACKSTOP_MS);
  signals.listen('listened', (tenant) => schedule.wake(tenant === null ? 0 : LISTENED_WITHIN_MS));
  changes.listen({
    catalogChanged: wakeAll,
    anyCatalogChanged: wakeAll,
    organisationChanged: wakeWithMessages,
    credentialsChanged: (names) => {
      if (names === null || names.some(namesChannels)) wakeWithMessages();
    },
    written: lookForAll,
  });
  testClock?.onChange(delivery.look);
  testClock?.onChange(emails.look);
  testClock?.onChange(() => schedule.wake());
  guard.listen(() => guard.isWhole && wakeAll());
}

/** Waits for `finish`, at most `timeoutMs`, and closes the core. */
async function endWithin(timeoutMs: number, finish: () => Promise<void>, core: WorkerCore): Promise<void> {
  const { log } = core;
  const inTime = new AbortController();
  const tooLate = sleep(timeoutMs, undefined, { signal: inTime.signal }).then(
    () => log.warn('the outbox was not emptied in time; the rest stays in it'),
    () => undefined,
  );
  const finished = finish().catch((error: unknown) => log.warn({ err: error }, 'the rest stays in the outbox'));
  await Promise.race([finished, tooLate]);
  inTime.abort();
  await core.close();
  // After a timeout, the rest fails immediately without connections, but still closes its own resources.
  await finished;
}
