import type { Pool } from 'pg';
import { unfinishedResends } from '../../postgres/webhooks/resends.ts';
import type { DueWork } from '../schedule/due-work.ts';
import { resendStep } from './resend-steps.ts';

/** So many messages may wait for a webhook before its resends wait: what is new is not to be refused for what is old. */
const ROOM = 1_000;
/** How soon it is looked again whether there is room. */
const LOOK_MS = 1_000;

/**
 * Queues the messages that administrators asked to be sent again, some at a time, as the webhook takes them. It is always due
 * now, and never before other work: a midnight does not wait for it. Where nobody asked, one look at an empty index.
 */
export class Resends implements DueWork {
  readonly name = 'messages to send again';
  readonly seesItself = true;
  private readonly pool: Pool;
  private readonly onQueued: () => void;
  /** When it is looked again; null: nothing is to be done. */
  private lookAgainMs: number | null = null;

  /** @param options.onQueued wakes the delivery */
  constructor({ pool, onQueued }: { pool: Pool; onQueued: () => void }) {
    this.pool = pool;
    this.onQueued = onQueued;
  }

  async due(upToMs: number): Promise<number | null> {
    const unfinished = await unfinishedResends(this.pool, ROOM);
    this.lookAgainMs = unfinished.length === 0 ? null : upToMs + LOOK_MS;
    return unfinished.some(({ hasRoom }) => hasRoom) ? upToMs : null;
  }

  async upcoming(untilMs: number): Promise<number | null> {
    return this.lookAgainMs !== null && this.lookAgainMs <= untilMs ? this.lookAgainMs : null;
  }

  async perform(_dueMs: number, ending: AbortSignal, _beforeMs: number, upToMs: number): Promise<void> {
    for (const { id, hasRoom } of await unfinishedResends(this.pool, ROOM)) {
      if (!hasRoom || ending.aborted) continue;
      if (await resendStep(this.pool, { id, nowMs: upToMs, count: true })) this.onQueued();
    }
  }
}
