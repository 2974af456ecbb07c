import { relative, sep } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Test files that took 12 s or more in a whole run of four at a time, the longest first. The order matters, the times do not: it need
 * not be changed with every test. `npm test -- --reporter=json --outputFile=FILE` has the time of each file.
 */
export const LONGEST: readonly string[] = [
  'test/console/screens.test.ts',
  'test/engine/imports/imported-again.test.ts',
  'test/engine/history/day-sums.test.ts',
  'test/main.test.ts',
  'test/processes/starting.test.ts',
  'test/engine/shards/move-shard.test.ts',
  'test/engine/schedule/one-failure.test.ts',
  'test/traces/traces.test.ts',
  'test/cli/rebuild.test.ts',
  'test/engine/notifications/emails.test.ts',
  'test/workers/midnight-kill.test.ts',
  'test/console/operator.test.ts',
  'test/workers/schedule-kill.test.ts',
  'test/chaos/chaos.test.ts',
  'test/engine/idempotency/key-ageing.test.ts',
  'test/live/stream.test.ts',
  'test/cli/config.test.ts',
  'test/cli/shards.test.ts',
  'test/fuzz/fuzz.test.ts',
  'test/workers/delivery-kill.test.ts',
  'test/engine/streaks/changed-settings.test.ts',
  'test/engine/corrections/reversals.test.ts',
  'test/engine/rebuild/failover.test.ts',
  'test/chaos/shutdown.test.ts',
  'test/abuse/costliest-requests.test.ts',
  'test/engine/notifications/one-tenant-fails.test.ts',
  'test/cli/webhooks.test.ts',
  'test/engine/shards/several-redis.test.ts',
  'test/console/recomputations.test.ts',
  'test/operations/authorisation.test.ts',
  'test/engine/rebuild/acknowledged.test.ts',
  'test/chaos/overload.test.ts',
  'test/engine/points/time-triggers.test.ts',
  'test/workers/kill.test.ts',
  'test/workers/damaged-kill.test.ts',
  'test/engine/corrections/corrected-days.test.ts',
  'test/chaos/groups.test.ts',
  'test/engine/partitions/event-retention.test.ts',
  'test/operations/admin/clock/clock.test.ts',
  'test/engine/recomputations/rule-changes.test.ts',
  'test/operations/admin/achievements/preview.test.ts',
  'test/engine/webhooks/deliveries.test.ts',
  'test/console/many-users.test.ts',
  'test/engine/notifications/places.test.ts',
  'test/model/late-streaks.test.ts',
  'test/workers/batch-kill.test.ts',
  'test/console/timeline.test.ts',
  'test/engine/rebuild/older-postgres.test.ts',
  'test/engine/rebuild/verify.test.ts',
  'test/engine/shards/older-postgres.test.ts',
  'test/bench/midnight.test.ts',
  'test/operations/examples.test.ts',
  'test/live/transport.test.ts',
  'test/engine/rebuild/set-aside.test.ts',
  'test/console/first-steps.test.ts',
  'test/cli/import.test.ts',
  'test/abuse/zones.test.ts',
  'test/engine/notifications/windows.test.ts',
  'test/model/late-events.test.ts',
];

/**
 * Begins with the files that take longest, so that none of them is the last and leaves the other workers without work. Vitest orders
 * files by their times of the run before, which a machine that has just installed the packages does not have: it began with the
 * largest file, and one of 30 s came last.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONGEST.indexOf(relative(this.ctx.config.root, moduleId).replaceAll(sep, '/'));
      return at < 0 ? LONGEST.length : at;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => place(a) - place(b));
  }
}
