import { createBatchIntake, type BatchIntake } from '../../src/engine/events/batch-intake.ts';
import { createBatchProcessor } from '../../src/engine/events/batch-processor.ts';
import { tenantParts } from '../../src/redis/parts.ts';
import type { TestUsers } from '../engine/users/test-users.ts';
import type { LaurelModel, SentEvent } from './laurel-model.ts';
import type { Said } from './seen.ts';

/** Events sent as a batch, on both sides: one after the other, as if each came alone. */
export class Batches {
  private readonly model: LaurelModel;
  private readonly tenantNo: number;
  private readonly isWide: boolean;
  private readonly intake: BatchIntake;
  private processed: Promise<unknown> = Promise.resolve();

  constructor(engine: TestUsers, model: LaurelModel) {
    const { redis, clock, ids } = engine;
    this.model = model;
    this.tenantNo = model.catalog.tenantNo;
    this.isWide = tenantParts(redis, this.tenantNo).length > 1;
    const catalogs = { of: () => engine.compiled(), atLeast: async () => undefined };
    const processor = createBatchProcessor({
      redis,
      catalogs,
      ids,
      lookUpKeys: () => Promise.reject(new Error('no key is old')),
      onWritten: () => undefined,
      onRefused: () => undefined,
      late: engine.late,
    });
    this.intake = createBatchIntake({
      redis,
      catalogs,
      clock,
      ids,
      withAddress: async () => new Set(),
      onAccepted: (shard) => void (this.processed = Promise.all([this.processed, processor.drain(shard)])),
      overloaded: () => false,
    });
  }

  async take(sent: readonly SentEvent[]): Promise<Said> {
    // The parts of a wide tenant process a batch side by side, so that the order of equal scores is undefined.
    const isUnordered = this.isWide && this.model.catalog.leaderboards.some(({ ties }) => ties === 'first');
    if (sent.length > 1 && isUnordered) {
      const all: Said[] = [];
      for (const event of sent) all.push(await this.take([event]));
      return { engine: all.map(({ engine }) => engine), model: all.map(({ model }) => model) };
    }
    const events = sent.map(({ metricKey, user, value, attributes, key, metadata }) => {
      const event = { key: metricKey, user, value, attributes, ...(metadata !== null && { metadata }) };
      return key === null ? event : { ...event, idempotencyKey: key };
    });
    const results = await this.intake.accept(this.tenantNo, events, { wait: true });
    await this.processed;
    return {
      engine: results!.map(({ status, total, replayed }) => (status === 422 ? null : { status, total, replayed })),
      model: sent.map((event) => {
        const answer = this.model.event(event);
        if (answer === null) return null;
        const { status, total } = answer;
        return { status, total, replayed: status === 202 };
      }),
    };
  }
}
