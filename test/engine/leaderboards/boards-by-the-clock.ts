import { setTimeout as sleep } from 'node:timers/promises';
import { FixedClock } from '../../../src/clock.ts';
import type { Configuration } from '../../../src/domain/configuration.ts';
import { boardPieces } from '../../../src/engine/leaderboards/board-pieces.ts';
import { JobRunner, type JobRunnerOptions } from '../../../src/engine/schedule/job-runner.ts';
import type { OnPieceFailed } from '../../../src/engine/schedule/pieces.ts';
import { DailySnapshots } from '../../../src/engine/leaderboards/daily-snapshots.ts';
import { createBoardFilling, type FillOptions } from '../../../src/engine/backfills/board-filling.ts';
import { createFinalRuns, type FinalRuns, type FinalStep } from '../../../src/engine/leaderboards/final-runs.ts';
import { startLaurel, type TestLaurel } from '../../laurel.ts';
import { stored } from '../../model/stored.ts';
import { keysOf } from '../../stack/all-servers.ts';

type Boards = NonNullable<Configuration['leaderboards']>;

/** A leaderboard that begins again every day. */
export const DAILY = {
  key: 'board',
  name: 'Board',
  status: 'active',
  rankBy: 'metric',
  metricKey: 'm',
  start: '2026-11-01',
  runUnit: 'day',
  runInterval: 1,
} as const;

/** A Laurel whose leaderboards the test advances by its clock, one due time after another. */
export class BoardsByTheClock {
  readonly laurel: TestLaurel;
  readonly clock: FixedClock;
  /** Called after each step of copying a final run. */
  onStep: (step: FinalStep) => void | Promise<void> = () => undefined;
  /** Called when a snapshot is written and not committed. */
  onSnapshot: () => void | Promise<void> = () => undefined;
  private failures: unknown[] = [];

  private constructor(laurel: TestLaurel, clock: FixedClock) {
    this.laurel = laurel;
    this.clock = clock;
  }

  static async start(
    now: string,
    boards: Boards,
    more: Partial<Configuration> = {},
    options: { spread?: number } = {},
  ): Promise<BoardsByTheClock> {
    const clock = new FixedClock(Date.parse(now));
    const configuration: Configuration = {
      attributes: [{ key: 'land', name: 'Land', type: 'user' }],
      metrics: [
        { key: 'm', name: 'M', unitType: 'number', units: '' },
        { key: 'other', name: 'Other', unitType: 'number', units: '' },
      ],
      ...more,
      leaderboards: boards,
    };
    const started = new BoardsByTheClock(await startLaurel({ clock, configuration, ...options }), clock);
    await started.fill();
    return started;
  }

  /** Fills the activated leaderboards as far as possible. Rejects when a slice fails. */
  async fill(options: Partial<FillOptions & Pick<JobRunnerOptions, 'onMoment'>> = {}): Promise<void> {
    const { redis, pool } = this.laurel;
    const onFailed: OnPieceFailed = ({ error }) => void this.failures.push(error);
    const filling = createBoardFilling({
      redis,
      pool,
      clock: this.clock,
      onWritten: () => undefined,
      minAgeMs: 0,
      onFailed,
      ...options,
    });
    const runner = new JobRunner({ pool, works: [filling], onFailed, onMoment: options.onMoment });
    await this.store();
    while (((await runner.untilNextMs()) ?? Infinity) < 1_000) {
      if (!(await runner.step())) await sleep(50);
      this.throwFailure();
      await this.store();
    }
  }

  /** Changes a leaderboard, by key. */
  async change(key: string, fields: object): Promise<void> {
    const { body } = await this.laurel.admin.get('/v1/leaderboards');
    const { id } = body.find((board: { key: string }) => board.key === key);
    const answer = await this.laurel.admin.patch('/v1/leaderboards', [{ id, ...fields }]);
    if (answer.status !== 200 || answer.body.issues.length > 0) throw new Error(JSON.stringify(answer.body));
  }

  get kinds(): [DailySnapshots, FinalRuns] {
    const { redis, pool } = this.laurel;
    const pieces = boardPieces('boards', ({ error }) => void this.failures.push(error));
    return [
      new DailySnapshots({ redis, pool, pieces, onWritten: () => this.onSnapshot() }),
      createFinalRuns({ redis, pool, pieces, onStep: (step) => this.onStep(step) }),
    ];
  }

  async event(
    user: string | { id: string; tz?: string | null; attributes?: Record<string, string> },
    value: number,
    metric = 'm',
  ) {
    const sent = typeof user === 'string' ? { id: user } : user;
    const { status, body } = await this.laurel.app.post(`/v1/metrics/${metric}/event`, { user: sent, value });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return body;
  }

  /** Stores what happened in Postgres. */
  async store(): Promise<void> {
    const { redis, pool } = this.laurel;
    await stored(redis, pool, 0);
  }

  /** Stores what happened, and sets the clock. */
  async at(now: string): Promise<void> {
    await this.store();
    this.clock.set(Date.parse(now));
  }

  /**
   * Does what is due up to the clock's time, in the order of the due times, which it returns. Rejects when a piece fails.
   */
  async due(): Promise<string[]> {
    const done: string[] = [];
    for (;;) {
      const due = await Promise.all(this.kinds.map((kind) => kind.due(this.clock.now())));
      const times = due.filter((time) => time !== null);
      if (times.length === 0) return done;
      const first = Math.min(...times);
      const kind = this.kinds[due.indexOf(first)]!;
      done.push(`${kind.name.split(' ')[0]} ${new Date(first).toISOString().slice(0, 19)}`);
      await kind.perform(first, new AbortController().signal);
      this.throwFailure();
    }
  }

  private throwFailure(): void {
    const [failure] = this.failures.splice(0);
    if (failure instanceof Error) throw failure;
  }

  /** `[rank, user, value]` of a page. */
  async places(query = '', board = 'board'): Promise<[number, string, number][]> {
    const { status, body } = await this.laurel.app.get(`/v1/leaderboards/${board}?${query}`);
    if (status !== 200) throw new Error(JSON.stringify(body));
    return body.rankings.map(({ rank, userId, value }: { rank: number; userId: string; value: number }) => [
      rank,
      userId,
      value,
    ]);
  }

  /** `[date, previousRank, rank, previousValue, value]` of a user's history. */
  async history(user: string, query = '') {
    const { body } = await this.laurel.app.get(`/v1/users/${user}/leaderboards/board?${query}`);
    return body.history.map((e: Record<string, unknown>) => [
      e['date'],
      e['previousRank'],
      e['rank'],
      e['previousValue'],
      e['value'],
    ]);
  }

  /** The sorted sets of leaderboards in Redis. */
  sets(): Promise<string[]> {
    return keysOf(this.laurel.redis, '*:[bg]:*');
  }

  /** Their keys without the shard, each once: a wide tenant has a set in each part with such a user. */
  async setNames(): Promise<string[]> {
    return [...new Set((await this.sets()).map((key) => key.replace(/^\{s\d+\}:/, '')))];
  }
}
