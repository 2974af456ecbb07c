import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FixedClock } from '../../src/clock.ts';
import type { Configuration } from '../../src/domain/configuration.ts';
import { backdated, make, plan } from '../engine/recomputations/recompute-laurel.ts';
import { startLaurel, type TestLaurel } from '../laurel.ts';
import { differencesIn } from '../differences.ts';
import { opened } from '../stack/opened.ts';

/** Users with a random history each, a sample on every run. */
const RUNS = Number(process.env['RUNS'] ?? 20);
const SEED = Number(process.env['SEED']);
/** Users whose quests are changed and recomputed together. */
const TOGETHER = 20;
const DAYS = 9;
const DAY_MS = 86_400_000;
const START_DAY = Date.UTC(2030, 0, 1) / DAY_MS;

type Quest = 'daily' | 'verbs';
const QUESTS: Record<Quest, { days: number; pays: number; counts: (verbs: boolean) => boolean }> = {
  daily: { days: 1, pays: 5, counts: () => true },
  verbs: { days: 3, pays: 7, counts: (verbs) => verbs },
};
const NAMES = Object.keys(QUESTS) as Quest[];

const CONFIGURATION: Configuration = {
  attributes: [
    { key: 'group', name: 'Group', type: 'user' },
    { key: 'deck', name: 'Deck', type: 'event' },
  ],
  metrics: [{ key: 'cards', name: 'Cards' }],
  achievements: NAMES.map((key) => ({
    key,
    name: key,
    trigger: 'metric',
    metricKey: 'cards',
    metricValue: 10,
    status: 'active',
    repeat: key === 'daily' ? 'daily' : { days: QUESTS[key].days },
    ...(key === 'verbs' && { eventAttributes: [{ key: 'deck', value: 'verbs' }] }),
  })),
  pointsSystems: [
    {
      key: 'xp',
      name: 'XP',
      triggers: [
        // So much that nothing is ever owed.
        { type: 'user_creation', points: 10_000, status: 'active' },
        ...NAMES.map((achievementKey) => ({
          type: 'achievement' as const,
          achievementKey,
          points: QUESTS[achievementKey].pays,
          status: 'active' as const,
        })),
      ],
    },
  ],
};

const action = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('event' as const),
      value: fc.constantFrom(1, 3, 5, 8, 12),
      /** How many days late it arrives. */
      late: fc.constantFrom(0, 0, 0, 1, 3, 7),
      verbs: fc.boolean(),
    }),
  },
  // Reverses an event, or its reversal.
  { weight: 3, arbitrary: fc.record({ do: fc.constant('reverse' as const), nth: fc.nat(30), revokes: fc.boolean() }) },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;
const history = fc.array(fc.array(action, { maxLength: 4, size: 'max' }), { minLength: DAYS, maxLength: DAYS });
/** What happens to all users at the end of a day. */
const common = fc.oneof(
  fc.constant({ do: 'nothing' as const }),
  fc.record({
    do: fc.constant('change' as const),
    quest: fc.constantFrom(...NAMES),
    wanted: fc.constantFrom(4, 8, 10, 15),
  }),
  fc.record({ do: fc.constant('recompute' as const), mayRevoke: fc.boolean() }),
  fc.constant({ do: 'revert' as const }),
);

/** Points that were paid for a completion. */
interface Award {
  points: number;
}
interface Completion {
  quest: Quest;
  period: number;
  atMs: number;
  /** The event that caused it; `null` for a change of the quest or a recomputation. */
  cause: SentEvent | null;
  award: Award;
}
interface SentEvent {
  id: string;
  day: number;
  value: number;
  verbs: boolean;
  awards: Award[];
  /** Its reversal in force, and what that took. */
  reversal: { id: string; revoked: Completion[]; awards: Award[] } | null;
}
interface Recomputed {
  gained: Completion[];
  lost: Completion[];
  /** The points that it gave, by quest. */
  points: Record<Quest, number>;
}

const periodOf = (quest: Quest, day: number): number => Math.floor(day / QUESTS[quest].days);

/** A user by the rules of `docs/quests.md` and `docs/corrections`. */
class ModelUser {
  readonly events: SentEvent[] = [];
  completions: Completion[] = [];
  private readonly awards: Award[] = [];
  /** What recomputations took and gave in addition. */
  private moved = 10_000;
  private recomputed: Recomputed | null = null;
  private readonly wanted: Readonly<Record<Quest, number>>;

  constructor(wanted: Readonly<Record<Quest, number>>) {
    this.wanted = wanted;
  }

  get points(): number {
    return this.awards.reduce((sum, award) => sum + (this.isTaken(award) ? 0 : award.points), this.moved);
  }

  sum(quest: Quest, period: number): number {
    return this.events
      .filter(
        ({ verbs, day, reversal }) =>
          reversal === null && QUESTS[quest].counts(verbs) && periodOf(quest, day) === period,
      )
      .reduce((sum, { value }) => sum + value, 0);
  }

  send(event: SentEvent, nowMs: number): void {
    this.events.push(event);
    for (const quest of NAMES) if (QUESTS[quest].counts(event.verbs)) this.settle(quest, event.day, event, nowMs);
  }

  /** Completes the period of a day if its sum suffices. */
  settle(quest: Quest, day: number, cause: SentEvent | null, atMs: number): void {
    const period = periodOf(quest, day);
    if (this.find(quest, period) !== undefined || this.sum(quest, period) < this.wanted[quest]) return;
    const award = { points: QUESTS[quest].pays };
    this.awards.push(award);
    cause?.awards.push(award);
    this.completions.push({ quest, period, atMs, cause, award });
  }

  reverse(event: SentEvent, id: string, revokes: boolean): void {
    const { reversal } = event;
    if (reversal !== null) {
      event.reversal = null;
      for (const each of reversal.revoked)
        if (this.find(each.quest, each.period) === undefined) this.completions.push(each);
      return;
    }
    event.reversal = { id, revoked: [], awards: [...event.awards] };
    if (!revokes) return;
    const revoked = this.completions.filter(
      ({ quest, period, cause }) =>
        QUESTS[quest].counts(event.verbs) &&
        periodOf(quest, event.day) === period &&
        cause !== null &&
        cause.reversal !== null &&
        this.sum(quest, period) < this.wanted[quest],
    );
    event.reversal = { id, revoked, awards: [...event.awards, ...revoked.map(({ award }) => award)] };
    this.completions = this.completions.filter((each) => !revoked.includes(each));
  }

  recompute(mayRevoke: boolean, atMs: number): void {
    const recomputed: Recomputed = { gained: [], lost: [], points: { daily: 0, verbs: 0 } };
    this.recomputed = recomputed;
    for (const quest of NAMES) {
      const isMet = (period: number): boolean => this.sum(quest, period) >= this.wanted[quest];
      const lost = this.completions.filter((each) => mayRevoke && each.quest === quest && !isMet(each.period));
      const periods = new Set(this.events.map(({ day }) => periodOf(quest, day)));
      const gained = [...periods]
        .filter((period) => isMet(period) && this.find(quest, period) === undefined)
        .map((period): Completion => ({ quest, period, atMs, cause: null, award: { points: QUESTS[quest].pays } }));
      const taken = lost.filter(({ award }) => !this.isTaken(award));
      recomputed.points[quest] = QUESTS[quest].pays * (gained.length - taken.length);
      recomputed.gained.push(...gained);
      recomputed.lost.push(...lost);
      this.moved += recomputed.points[quest];
    }
    this.completions = [...this.completions.filter((each) => !recomputed.lost.includes(each)), ...recomputed.gained];
  }

  /** A quest's points move if any of its completions does. */
  revert(): void {
    const { gained, lost, points } = this.recomputed!;
    for (const quest of NAMES) {
      const given = gained.filter((each) => each.quest === quest && this.completions.includes(each));
      const back = lost.filter((each) => each.quest === quest && this.find(quest, each.period) === undefined);
      if (given.length + back.length === 0) continue;
      this.completions = [...this.completions.filter((each) => !given.includes(each)), ...back];
      this.moved -= points[quest];
    }
  }

  seen(day: number) {
    return {
      points: this.points,
      quests: NAMES.map((quest) => {
        const period = periodOf(quest, day);
        const own = this.completions.filter((each) => each.quest === quest);
        return {
          quest,
          timesCompleted: own.length,
          achievedMs: own.length === 0 ? null : Math.max(...own.map(({ atMs }) => atMs)),
          progress: this.sum(quest, period),
          completed: this.find(quest, period) !== undefined,
        };
      }),
    };
  }

  private find(quest: Quest, period: number): Completion | undefined {
    return this.completions.find((each) => each.quest === quest && each.period === period);
  }

  private isTaken(award: Award): boolean {
    return this.events.some(({ reversal }) => reversal?.awards.includes(award) === true);
  }
}

const clock = new FixedClock(START_DAY * DAY_MS);
const laurel = opened(() => startLaurel({ configuration: CONFIGURATION, clock, workers: true }));

/** A millisecond later than anything before. */
const tick = (): number => (clock.set(clock.now() + 1), clock.now());

async function ok(answer: ReturnType<TestLaurel['app']['post']>) {
  const { status, body } = await answer;
  expect([status < 300, body.error, body.issues ?? []]).toEqual([true, undefined, []]);
  return body;
}

async function take(drawn: Action, { id, user, day }: { id: string; user: ModelUser; day: number }) {
  const nowMs = tick();
  if (drawn.do === 'event') {
    const { value, verbs, late } = drawn;
    const sent = {
      user: { id },
      value,
      ...(verbs && { attributes: { deck: 'verbs' } }),
      ...(late > 0 && { occurredAt: new Date(nowMs - late * DAY_MS).toISOString() }),
    };
    const { eventId } = await ok(laurel.app.post('/v1/metrics/cards/event', sent));
    user.send({ id: eventId, day: day - late, value, verbs, awards: [], reversal: null }, nowMs);
    return;
  }
  const event = user.events[drawn.nth % Math.max(1, user.events.length)];
  if (event === undefined) return;
  const reversed = event.reversal?.id ?? event.id;
  const body = { revokeAchievements: drawn.revokes };
  const { reversalId } = await ok(laurel.admin.post(`/v1/events/${reversed}/reverse`, body));
  user.reverse(event, reversalId, drawn.revokes);
}

async function seenOf(id: string, day: number): Promise<ReturnType<ModelUser['seen']> | null> {
  const { status, body } = await laurel.app.get(`/v1/users/${id}/achievements?includeIncomplete=true`);
  if (status === 404) return null;
  const quests = NAMES.map((quest) => {
    const { timesCompleted, achievedAt, period } = body.find(({ key }: { key: string }) => key === quest);
    const { progress, completed } = period;
    const achievedMs = achievedAt === null ? null : Date.parse(achievedAt);
    return { quest, timesCompleted, achievedMs, progress, completed };
  });
  const points = (await laurel.app.get(`/v1/users/${id}/points/xp`)).body.total;
  expect(Math.floor(clock.now() / DAY_MS)).toBe(day);
  return { points, quests };
}

test(
  'quests follow the rules through late events, reversals, changed rules and recomputations',
  { timeout: 300_000 + RUNS * 10_000 },
  async () => {
    const ids = new Map<string, string>(
      (await laurel.admin.get('/v1/achievements')).body.map(({ key, id }: { key: string; id: string }) => [key, id]),
    );
    const wanted: Record<Quest, number> = { daily: 10, verbs: 10 };
    for (let round = 0; round * TOGETHER < RUNS; round += 1) {
      const group = `group ${round}`;
      // Each round draws other histories.
      const seed = SEED + round;
      const users = fc
        .sample(history, { seed, numRuns: TOGETHER })
        .map((days, n) => ({ id: `user-${round}-${n}`, days, user: new ModelUser(wanted) }));
      const [commons] = fc.sample(fc.array(common, { minLength: DAYS, maxLength: DAYS }), { seed, numRuns: 1 });
      clock.set((START_DAY + round * 20) * DAY_MS);
      for (const { id } of users) await ok(laurel.app.post('/v1/users', { id, attributes: { group } }));
      let applied: string | null = null;
      for (let nth = 0; nth < DAYS; nth += 1) {
        const day = START_DAY + 10 + round * 20 + nth;
        clock.set(day * DAY_MS + DAY_MS / 2);
        for (const { id, days, user } of users) for (const drawn of days[nth]!) await take(drawn, { id, user, day });
        const nowMs = tick();
        const all = commons![nth]!;
        if (all.do === 'change' && all.wanted !== wanted[all.quest]) {
          wanted[all.quest] = all.wanted;
          await ok(laurel.admin.patch('/v1/achievements', [{ id: ids.get(all.quest), metricValue: all.wanted }]));
          await backdated(laurel);
          for (const { user } of users) user.settle(all.quest, day, null, nowMs);
        } else if (all.do === 'recompute') {
          const { mayRevoke } = all;
          const cohort = { userAttributes: `group:${group}` };
          ({ id: applied } = await plan(laurel, { what: ['achievements'], mayRevoke, cohort }));
          await make(laurel, applied, 'apply');
          for (const { user } of users) user.recompute(mayRevoke, nowMs);
        } else if (all.do === 'revert' && applied !== null) {
          await make(laurel, applied, 'revert');
          applied = null;
          for (const { user } of users) user.revert();
        }
        for (const { id, user } of users)
          expect({ id, day: nth, all, ...(await seenOf(id, day)) }).toEqual({ id, day: nth, all, ...user.seen(day) });
      }
      expect(await differencesIn(laurel)).toEqual([]);
    }
  },
);
