import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import {
  COUNTED,
  mondayOf,
  monthOf,
  MOST_VALUES,
  secondsOf,
  SEGMENT,
  utcDay,
  valuesOfSize,
  WEEK_DAYS,
  type Counted,
} from '../../domain/analytics.ts';
import type {
  AnalyticsAchievement,
  AnalyticsAchievements,
  AnalyticsLeaderboards,
  AnalyticsMetric,
  AnalyticsMetrics,
  AnalyticsPoints,
  AnalyticsPointsSystem,
  AnalyticsSegments,
  AnalyticsStreaks,
  AnalyticsUsers,
} from '../../domain/analytics-responses.ts';
import type { Leaderboard, PointsSystem } from '../../domain/catalog.ts';
import { microsNumber } from '../../domain/decimal.ts';
import { dateOf, type Days, FREQUENCIES } from '../../domain/periods.ts';
import { boardStatus } from '../../domain/runs.ts';
import { COUNTER, completionsField } from '../../packed/call-fields.ts';
import { SETTLED } from '../../packed/record-fields.ts';
import { decodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import {
  firstDayOf,
  idsOfUsers,
  readSums,
  readSumsByDay,
  readSumsTogether,
  readValues,
  sampleStates,
  topValues,
  usersWithValue,
  type AnalyticsSum,
} from '../../postgres/analytics.ts';
import { firstIdOf } from '../../postgres/partitions.ts';
import { tenantCounters } from '../../redis/parts.ts';
import type { CaughtUp } from '../persist/caught-up-reads.ts';
import type { PointsReads } from '../points/points-reads.ts';
import { AppError } from '../../errors.ts';
import { mappedInSlices } from '../../slices.ts';
import { isControl, settledNow } from '../responses.ts';
import { askedOf, comparedDays, daysOf, type Tallies, type AnalyticsQuery, type Asked } from './analytics-range.ts';
import type { CostlyReads } from './costly-reads.ts';
import { balanceChangesOf, balanceOfAll, changesUpTo, netUpTo, type BalanceChanges } from './balance-figures.ts';
import {
  boardFigures,
  bothMoved,
  bothSpent,
  bySubject,
  eventsOn,
  found,
  groupedBy,
  inRange,
  inWeeks,
  lengthRanges,
  medianSeconds,
  periodsIn,
  placesByDay,
  progress,
  shown,
  sumOf,
  talliesBy,
} from './figures.ts';

export interface AnalyticsReadsOptions {
  redis: Redis;
  pool: Pool;
  clock: Clock;
  caughtUp: Pick<CaughtUp, 'tenant'>;
  points: Pick<PointsReads, 'summary' | 'levelSummary'>;
  /** Share of the users, 0 to 1, who are in the control group. */
  controlShare: () => number;
  costly: CostlyReads;
}

/** Size of the sample of users for figures that no sum contains. Tenants with fewer users get exact figures. */
const SAMPLE_USERS = 1_000;
/** How many of the newest events, of all tenants, are searched for values of attributes. */
const NEWEST_EVENTS = 20_000;
const TOP_VALUES = 50;
/** Longest range in which the list of metrics has each day: a tenant has up to 10,000 of them. */
const MOST_DAYS_OF_EACH = 31;
/** How many IDs are read at once to count the users of a group. */
const IDS_AT_ONCE = 5_000;

/** Of all users in a points system. */
interface Standing {
  net: number;
  held: number;
  balance: number;
}

/**
 * Reads figures about a tenant's users over time from the sums that the persister keeps. They include every event that was
 * acknowledged before the read.
 */
export function createAnalyticsReads(options: AnalyticsReadsOptions) {
  const { pool, clock, redis, controlShare, caughtUp, costly } = options;

  /** The segments that a query may select. */
  async function segments({ catalog, userAttributes }: CompiledCatalog): Promise<AnalyticsSegments> {
    await caughtUp.tenant(catalog.tenantNo);
    const values = await readValues(pool, catalog.tenantNo);
    const attributes = [...userAttributes.values()].map(({ no, key, name }) => {
      const own = values.filter(({ attributeNo }) => attributeNo === no);
      return { key, name, values: own.map(({ value }) => value), isFull: own.length >= MOST_VALUES };
    });
    return { controlShare: controlShare(), attributes };
  }

  async function users(compiled: CompiledCatalog, query: AnalyticsQuery): Promise<AnalyticsUsers> {
    const asked = await askedOf(options, compiled, query);
    const { days } = asked;
    const [byDay, weeks, months, users, countedFrom] = await Promise.all([
      talliesByDay(asked, [COUNTED.activeOnDay, COUNTED.newUsers]),
      sumsOfDays({ ...asked, days: { ...days, fromBefore: mondayOf(days.fromDay) } }, [COUNTED.activeInWeek]),
      sumsOfDays({ ...asked, days: { ...days, fromBefore: monthOf(days.fromDay) } }, [COUNTED.activeInMonth]),
      usersOf(asked),
      asked.segment === SEGMENT.everyone ? null : firstDayOf(pool, asked),
    ]);
    // Who was active before the segment was counted is missing in the period of its first day, and in earlier ones.
    const isPartial = (firstDay: number): boolean =>
      asked.segment !== SEGMENT.everyone && (countedFrom === null || firstDay < countedFrom);
    const period = (sums: AnalyticsSum[], day: number): AnalyticsUsers['weeks'][number] => ({
      date: dateOf(day),
      activeUsers: eventsOn(sums, day),
      isPartial: isPartial(day),
    });
    const active = byDay(COUNTED.activeOnDay);
    const fresh = byDay(COUNTED.newUsers);
    const rows = daysOf(days, (day, before) => ({
      activeUsers: active.events(day),
      activeUsersBefore: active.events(before),
      newUsers: fresh.events(day),
      newUsersBefore: fresh.events(before),
    }));
    return {
      ...days.dates,
      users,
      countedFrom: countedFrom === null ? null : dateOf(countedFrom),
      newUsers: sumOf(rows.map(({ newUsers }) => newUsers)),
      newUsersBefore: sumOf(rows.map(({ newUsersBefore }) => newUsersBefore)),
      days: rows,
      weeks: periodsIn(days, mondayOf).map((day) => period(weeks, day)),
      months: periodsIn(days, monthOf).map((day) => period(months, day)),
    };
  }

  /** All metrics; with `days`, the events of each on each day. 422 if these are too many days. */
  async function metrics(
    compiled: CompiledCatalog,
    query: AnalyticsQuery & { days: boolean },
  ): Promise<AnalyticsMetrics> {
    const asked = await askedOf(options, compiled, query);
    const { tenantNo, segment, days } = asked;
    const length = days.toDay - days.fromDay + 1;
    if (query.days && length > MOST_DAYS_OF_EACH)
      throw new AppError('unprocessable', `days=true is for a range of at most ${MOST_DAYS_OF_EACH} days.`);
    const counted = { tenantNo, segment, kinds: [COUNTED.events] };
    const [now, before] = await Promise.all([
      (query.days ? readSums : readSumsTogether)(pool, { ...counted, ...inRange(days) }),
      readSumsTogether(pool, { ...counted, fromDay: days.fromBefore, toDay: days.fromDay - 1 }),
    ]);
    const [sums, sumsBefore] = [talliesBy(now, 'subject'), talliesBy(before, 'subject')];
    const dailySums = query.days ? bySubject(now) : new Map<number, AnalyticsSum[]>();
    const metrics = await mappedInSlices(compiled.catalog.metrics, ({ id, key, name, units, no }) => {
      const daily = talliesBy(dailySums.get(no) ?? [], 'day');
      return {
        id,
        key,
        name,
        units,
        events: sums.events(no),
        eventsBefore: sumsBefore.events(no),
        value: microsNumber(sums.value(no)),
        valueBefore: microsNumber(sumsBefore.value(no)),
        ...(query.days && { days: Array.from({ length }, (_, at) => daily.events(days.fromDay + at)) }),
      };
    });
    return { ...days.dates, metrics };
  }

  /** A metric by day, per active user by week, by the size of values, and by attributes of its newest events. 404. */
  async function metric(compiled: CompiledCatalog, id: string, query: AnalyticsQuery): Promise<AnalyticsMetric> {
    const metric = found(compiled.metricsById.get(id), 'metric');
    const asked = await askedOf(options, compiled, query);
    const { days, tenantNo } = asked;
    const weeks = periodsIn(days, mondayOf);
    const ofWeeks = { fromBefore: weeks[0]!, fromDay: weeks[0]!, toDay: weeks.at(-1)! + WEEK_DAYS - 1 };
    const everyone = { tenantNo, segment: SEGMENT.everyone };
    const [byDay, byWeek, active, sizes, top] = await Promise.all([
      talliesByDay(asked, [COUNTED.events], metric.no),
      sumsOfDays({ ...asked, days: { ...days, ...ofWeeks } }, [COUNTED.events], metric.no),
      sumsOfDays({ ...asked, days: { ...days, ...ofWeeks } }, [COUNTED.activeInWeek]),
      readSumsTogether(pool, {
        ...everyone,
        ...inRange(days),
        kinds: [COUNTED.sizes],
        subject: metric.no,
      }),
      newestValues(asked, metric.no),
    ]);
    const events = byDay(COUNTED.events);
    const bySize = talliesBy(sizes, 'part');
    const total = (from: number, to: number): { events: number; value: number } => ({
      events: sumOf(events.numbers().map((day) => (day >= from && day <= to ? events.events(day) : 0))),
      value: microsNumber(
        events.numbers().reduce((sum, day) => (day >= from && day <= to ? sum + events.value(day) : sum), 0n),
      ),
    });
    const [now, before] = [total(days.fromDay, days.toDay), total(days.fromBefore, days.fromDay - 1)];
    return {
      ...days.dates,
      id,
      key: metric.key,
      name: metric.name,
      units: metric.units,
      events: now.events,
      eventsBefore: before.events,
      value: now.value,
      valueBefore: before.value,
      days: daysOf(days, (day, dayBefore) => ({
        events: events.events(day),
        eventsBefore: events.events(dayBefore),
        value: microsNumber(events.value(day)),
        valueBefore: microsNumber(events.value(dayBefore)),
      })),
      weeks: weeks.map((week) => {
        const ofWeek = byWeek.filter(({ day }) => day >= week && day < week + WEEK_DAYS);
        const value = microsNumber(ofWeek.reduce((sum, row) => sum + row.value, 0n));
        const activeUsers = eventsOn(active, week);
        return { date: dateOf(week), activeUsers, value, perUser: activeUsers === 0 ? null : value / activeUsers };
      }),
      sizes: bySize.numbers().flatMap((size) => {
        const count = bySize.events(size);
        return count === 0 ? [] : [{ ...valuesOfSize(size), events: count }];
      }),
      attributes: top.values,
      attributeEvents: top.events,
    };
  }

  async function achievements(compiled: CompiledCatalog, query: AnalyticsQuery): Promise<AnalyticsAchievements> {
    const asked = await askedOf(options, compiled, query);
    const everyone = { tenantNo: asked.tenantNo, segment: SEGMENT.everyone, ...inWeeks(asked.days) };
    const [[now, before], byDay, durations, held] = await Promise.all([
      sumsTogether(asked, [COUNTED.completed]),
      talliesByDay(asked, [COUNTED.completed]).then((of) => of(COUNTED.completed)),
      readSumsTogether(pool, { ...everyone, kinds: [COUNTED.durations] }),
      holdersOf(compiled),
    ]);
    const [byNo, byNoBefore] = [talliesBy(now, 'subject'), talliesBy(before, 'subject')];
    return {
      ...asked.days.dates,
      users: held.users,
      days: daysOf(asked.days, (day, dayBefore) => ({
        completed: byDay.events(day),
        completedBefore: byDay.events(dayBefore),
      })),
      achievements: compiled.catalog.achievements.map((achievement) => ({
        ...shown(achievement),
        completed: byNo.events(achievement.no),
        completedBefore: byNoBefore.events(achievement.no),
        holders: held.of(achievement.no),
        medianSeconds: medianSeconds(durations.filter(({ subject }) => subject === achievement.no)),
      })),
    };
  }

  /** An achievement by day and by the time to complete it, and the progress of users who do not have it. 404. */
  async function achievement(
    compiled: CompiledCatalog,
    id: string,
    query: AnalyticsQuery,
  ): Promise<AnalyticsAchievement> {
    const achievement = found(compiled.achievementsById.get(id), 'achievement');
    const asked = await askedOf(options, compiled, query);
    const everyone = { tenantNo: asked.tenantNo, segment: SEGMENT.everyone, ...inWeeks(asked.days) };
    const [byDay, durations, held, states] = await Promise.all([
      talliesByDay(asked, [COUNTED.completed], achievement.no),
      readSumsTogether(pool, { ...everyone, kinds: [COUNTED.durations], subject: achievement.no }),
      holdersOf(compiled),
      sampledStates(asked.tenantNo),
    ]);
    const completed = byDay(COUNTED.completed);
    const days = daysOf(asked.days, (day, dayBefore) => ({
      completed: completed.events(day),
      completedBefore: completed.events(dayBefore),
    }));
    const steps = talliesBy(durations, 'part');
    return {
      ...asked.days.dates,
      ...shown(achievement),
      users: held.users,
      completed: sumOf(days.map((day) => day.completed)),
      completedBefore: sumOf(days.map((day) => day.completedBefore)),
      holders: held.of(achievement.no),
      medianSeconds: medianSeconds(durations),
      days,
      durations: steps.numbers().flatMap((step) => {
        const count = steps.events(step);
        return count === 0 ? [] : [{ seconds: secondsOf(step), completed: count }];
      }),
      sampled: states.length,
      progress: progress(compiled, achievement, states, clock.now()),
    };
  }

  /** Points of all systems. `net` and `balance` are those at the end of the range, or now if it ends today. */
  async function points(compiled: CompiledCatalog, query: AnalyticsQuery): Promise<AnalyticsPoints> {
    const asked = await askedOf(options, compiled, query);
    const kinds = [COUNTED.awarded, COUNTED.taken];
    const [[now, before], [changes, changesBefore], end] = await Promise.all([
      sumsTogether(asked, kinds),
      sumsTogether(asked, [COUNTED.balanceChanges]),
      standingAt(asked, asked.days.toDay),
    ]);
    const systems = compiled.catalog.pointsSystems.map(({ id, key, name, no }) => {
      const ofSystem = (sums: AnalyticsSum[]): AnalyticsSum[] => sums.filter(({ part }) => part === no);
      const changed = (sums: AnalyticsSum[]): BalanceChanges =>
        balanceChangesOf(sums.filter(({ subject }) => subject === no));
      return {
        id,
        key,
        name,
        ...bothMoved(ofSystem(now), ofSystem(before)),
        ...bothSpent(changed(changes), changed(changesBefore)),
        ...end(no),
      };
    });
    return { ...asked.days.dates, systems };
  }

  /** A points system by day and trigger, and the current distribution of points. 404. */
  async function pointsSystem(
    compiled: CompiledCatalog,
    id: string,
    query: AnalyticsQuery,
  ): Promise<AnalyticsPointsSystem> {
    const system = found(compiled.pointsSystemsById.get(id), 'points system');
    const asked = await askedOf(options, compiled, query);
    const { days } = asked;
    const kinds = [COUNTED.awarded, COUNTED.taken];
    const ofSystem = { tenantNo: asked.tenantNo, segment: asked.segment, kinds, part: system.no };
    const before = { fromDay: days.fromBefore, toDay: days.fromDay - 1 };
    const changesOf = { tenantNo: asked.tenantNo, segment: asked.segment, subject: system.no };
    const balanceKinds = [COUNTED.balanceChanges, COUNTED.holdsEnded];
    const [now, then, dailyBefore, changes, changesBefore, start, end, ranges, levels] = await Promise.all([
      readSums(pool, { ...ofSystem, ...inRange(days) }),
      readSumsTogether(pool, { ...ofSystem, ...before }),
      readSumsByDay(pool, { ...ofSystem, ...before }),
      readSums(pool, { ...changesOf, kinds: balanceKinds, ...inRange(days) }),
      readSumsTogether(pool, { ...changesOf, kinds: [COUNTED.balanceChanges], ...before }),
      standingAt(asked, days.fromDay - 1),
      standingAt(asked, days.toDay),
      options.points.summary(compiled, system.key, query.userAttributes),
      levelsOf(compiled, system, query),
    ]);
    const [awarded, taken] = [COUNTED.awarded, COUNTED.taken].map((wanted) =>
      talliesBy(
        [...now, ...dailyBefore].filter(({ kind }) => kind === wanted),
        'day',
      ),
    ) as [Tallies, Tallies];
    const [byTriggerNow, byTriggerThen] = [bySubject(now), bySubject(then)];
    const changesByDay = groupedBy(changes, ({ day }) => day);
    let { net, held, balance } = start(system.no);
    return {
      ...days.dates,
      id,
      key: system.key,
      name: system.name,
      ...bothMoved(now, then),
      ...bothSpent(balanceChangesOf(changes), balanceChangesOf(changesBefore)),
      ...end(system.no),
      days: daysOf(days, (day, dayBefore) => {
        const changed = balanceChangesOf(changesByDay.get(day) ?? []);
        const { spent, refunded, expired } = changed;
        const row = {
          awarded: microsNumber(awarded.value(day)),
          awardedBefore: microsNumber(awarded.value(dayBefore)),
          taken: microsNumber(taken.value(day)),
          takenBefore: microsNumber(taken.value(dayBefore)),
        };
        net += row.awarded - row.taken;
        held += changed.held;
        balance += balanceOfAll(row.awarded - row.taken, changed);
        const standing = day === days.toDay ? end(system.no) : { net, held, balance };
        return { ...row, spent, refunded, expired, ...standing };
      }),
      triggers: [...new Set([...byTriggerNow.keys(), ...byTriggerThen.keys()])].map((no) => {
        const trigger = compiled.triggersByNo.get(no);
        const [ownNow, ownThen] = [byTriggerNow.get(no) ?? [], byTriggerThen.get(no) ?? []];
        const given = talliesBy(
          ownNow.filter(({ kind }) => kind === COUNTED.awarded),
          'day',
        );
        return {
          id: trigger?.id ?? null,
          type: trigger?.type ?? null,
          awards: sumOf(ownNow.map(({ events }) => events)),
          ...bothMoved(ownNow, ownThen),
          days: Array.from({ length: days.toDay - days.fromDay + 1 }, (_, at) =>
            microsNumber(given.value(days.fromDay + at)),
          ),
        };
      }),
      ranges,
      levels,
    };
  }

  /** Changes of streaks by day, and the current distribution of lengths. */
  async function streaks(compiled: CompiledCatalog, query: AnalyticsQuery): Promise<AnalyticsStreaks> {
    const asked = await askedOf(options, compiled, query);
    const { frequency } = compiled.catalog.streaks;
    const subject = FREQUENCIES.indexOf(frequency) + 1;
    const [extended, changes, users, states] = await Promise.all([
      sumsOfDays(asked, [COUNTED.streaksExtended]),
      sumsOfDays(asked, [COUNTED.streakChanges], subject),
      userCount(asked.tenantNo),
      sampledStates(asked.tenantNo),
    ]);
    const ofKind = (kind: number): Tallies =>
      talliesBy(
        changes.filter(({ part }) => part === kind),
        'day',
      );
    const [byDay, lost, frozen] = [talliesBy(extended, 'day'), ofKind(SETTLED.lost), ofKind(SETTLED.freeze)];
    const nowMs = clock.now();
    const lengths = await mappedInSlices(
      states,
      (state) => settledNow(compiled, state, nowMs).streaks[frequency].length,
    );
    return {
      ...asked.days.dates,
      users,
      days: daysOf(asked.days, (day, before) => ({
        extended: byDay.events(day),
        extendedBefore: byDay.events(before),
        lost: lost.events(day),
        lostBefore: lost.events(before),
        frozen: frozen.events(day),
        frozenBefore: frozen.events(before),
      })),
      sampled: states.length,
      lengths: lengthRanges(lengths),
    };
  }

  /** The current run of each active leaderboard: participants, the scores at tenths of them, and how places changed. */
  async function leaderboards(
    { catalog }: CompiledCatalog,
    query: Pick<AnalyticsQuery, 'from' | 'to'>,
  ): Promise<AnalyticsLeaderboards> {
    const { tenantNo } = catalog;
    const today = utcDay(clock.now());
    const days = comparedDays(query, clock.now());
    const active = catalog.leaderboards.filter((board) => boardStatus(board, today) === 'active');
    const places = await readSums(pool, {
      tenantNo,
      segment: SEGMENT.everyone,
      kinds: [COUNTED.placesChanged, COUNTED.placesJoined],
      fromDay: days.fromBefore,
      toDay: days.toDay,
    });
    const shownBoard = async (board: Leaderboard): Promise<AnalyticsLeaderboards['leaderboards'][number]> => {
      const own = places.filter(({ subject }) => subject === board.no);
      return { ...(await boardFigures(redis, { tenantNo, board, today })), ...placesByDay(days, own) };
    };
    return { ...days.dates, leaderboards: await Promise.all(active.map(shownBoard)) };
  }

  function sumsOfDays({ tenantNo, days, segment }: Asked, kinds: Counted[], subject?: number): Promise<AnalyticsSum[]> {
    const range = { fromDay: days.fromBefore, toDay: days.toDay };
    return readSums(pool, {
      tenantNo,
      segment,
      kinds,
      ...range,
      ...(subject !== undefined && { subject }),
    });
  }

  async function talliesByDay(asked: Asked, kinds: Counted[], subject?: number): Promise<(kind: Counted) => Tallies> {
    const { tenantNo, days, segment } = asked;
    const range = { fromDay: days.fromBefore, toDay: days.toDay, ...(subject !== undefined && { subject }) };
    const sums = await readSumsByDay(pool, { tenantNo, segment, kinds, ...range });
    return (kind) =>
      talliesBy(
        sums.filter((sum) => sum.kind === kind),
        'day',
      );
  }

  /** Sums of the range, and of the period before. */
  function sumsTogether(
    { tenantNo, days, segment }: Asked,
    kinds: Counted[],
  ): Promise<[AnalyticsSum[], AnalyticsSum[]]> {
    const read = (range: Days): Promise<AnalyticsSum[]> =>
      readSumsTogether(pool, { tenantNo, segment, kinds, ...range });
    return Promise.all([read(inRange(days)), read({ fromDay: days.fromBefore, toDay: days.fromDay - 1 })]);
  }

  /** Points awarded and not taken, held, and left to spend at the end of a day, by points system. */
  async function standingAt({ tenantNo, segment }: Asked, day: number): Promise<(systemNo: number) => Standing> {
    const asked = { tenantNo, segment, day, today: utcDay(clock.now()) };
    const [netOf, changesOf] = await Promise.all([netUpTo(pool, asked), changesUpTo(pool, asked)]);
    return (systemNo) => {
      const [net, changes] = [netOf(systemNo), changesOf(systemNo)];
      return { net, held: changes.held, balance: balanceOfAll(net, changes) };
    };
  }

  /** Number of users who are in a segment now. */
  async function usersOf({ tenantNo, segment, value }: Asked): Promise<number> {
    if (value !== null)
      return costly.run(tenantNo, `users ${value.attributeNo} ${value.value}`, () => usersWithValue(pool, value));
    const users = await userCount(tenantNo);
    if (segment === SEGMENT.everyone) return users;
    const share = controlShare();
    const control = await costly.run(tenantNo, `control users ${share}`, () => controlUsers(tenantNo, share));
    return segment === SEGMENT.control ? control : users - control;
  }

  async function controlUsers(tenantNo: number, share: number): Promise<number> {
    let users = 0;
    for (let after: string | null = null; ;) {
      const ids: string[] = await idsOfUsers(pool, { tenantNo, after, limit: IDS_AT_ONCE });
      const inControl = await mappedInSlices(ids, (id) => isControl(id, share));
      users += inControl.filter(Boolean).length;
      if (ids.length < IDS_AT_ONCE) return users;
      after = ids.at(-1)!;
    }
  }

  async function userCount(tenantNo: number): Promise<number> {
    return (await tenantCounters(redis, tenantNo, [COUNTER.users]))[0]!;
  }

  /** Numbers of users: of all, and of those who have an achievement. */
  async function holdersOf({ catalog }: CompiledCatalog): Promise<{ users: number; of: (no: number) => number }> {
    const numbers = catalog.achievements.map(({ no }) => no);
    const fields = [COUNTER.users, ...numbers.map(completionsField)];
    const [users = 0, ...counts] = await tenantCounters(redis, catalog.tenantNo, fields);
    const byNo = new Map(numbers.map((no, index) => [no, counts[index]!]));
    return { users, of: (no) => byNo.get(no) ?? 0 };
  }

  async function sampledStates(tenantNo: number): Promise<User[]> {
    const sample = { tenantNo, users: SAMPLE_USERS };
    return costly.run(tenantNo, 'states', async () => mappedInSlices(await sampleStates(pool, sample), decodeUser));
  }

  function newestValues({ tenantNo, days }: Asked, metricNo: number): ReturnType<typeof topValues> {
    const range = { fromId: firstIdOf(days.fromDay), toId: firstIdOf(days.toDay + 1) };
    return costly.run(tenantNo, `top values ${metricNo} ${days.fromDay} ${days.toDay}`, () =>
      topValues(pool, { tenantNo, metricNo, ...range, newest: NEWEST_EVENTS, limit: TOP_VALUES }),
    );
  }

  async function levelsOf(
    compiled: CompiledCatalog,
    { id, key }: PointsSystem,
    query: AnalyticsQuery,
  ): Promise<AnalyticsPointsSystem['levels']> {
    if ((compiled.levels.get(id) ?? []).length === 0 || query.userAttributes !== undefined) return [];
    const levels = await options.points.levelSummary(compiled, key);
    return levels.map(({ level, users }) => ({ id: level.id, name: level.name, users }));
  }

  return { segments, users, metrics, metric, achievements, achievement, points, pointsSystem, streaks, leaderboards };
}

export type AnalyticsReads = ReturnType<typeof createAnalyticsReads>;
