import type { Catalog } from '../../src/domain/catalog.ts';
import { DEFAULT_STREAK_SETTINGS, type StreakSettings } from '../../src/domain/fields/tenant-settings.ts';
import { CatalogBuilder } from '../engine/catalog-builder.ts';
import { type Drawn, METRICS } from './random-catalog.ts';

/** The drawn settings of freezes; null: there are none. */
export const freezesOf = (drawn: Drawn['streaks']['freezes']): StreakSettings['freezes'] =>
  drawn === null
    ? DEFAULT_STREAK_SETTINGS.freezes
    : {
        enabled: true,
        initial: drawn.initial,
        max: drawn.initial + drawn.more,
        autoEarnInterval: drawn.earned?.interval ?? null,
        autoEarnAmount: drawn.earned?.amount ?? null,
      };

/** The drawn catalog of a tenant; days are counted from `today`. */
export function catalogOf(drawn: Drawn, tenantNo: number, todayMs: number): Catalog {
  const builder = new CatalogBuilder(tenantNo);
  const day = (days: number): string => new Date(todayMs + days * 86_400_000).toISOString().slice(0, 10);
  const dayOrNull = (days: number | null | undefined): string | null =>
    days === null || days === undefined ? null : day(days);
  const planId = builder.attribute('plan', 'user').id;
  const deckId = builder.attribute('deck', 'event').id;
  const movesId = builder.attribute('moves', 'event').id;
  const ofPlan = (value: string | null) => (value === null ? [] : [{ attributeId: planId, attributeValue: value }]);
  const ofDeck = (value: string | null) => (value === null ? [] : [{ attributeId: deckId, attributeValue: value }]);
  const metrics = METRICS.map((key) => builder.metric(key));
  const ids: string[] = [];
  const achievementId = (nth: number): string | null => ids[nth % Math.max(1, ids.length)] ?? null;
  for (const [index, one] of drawn.achievements.entries()) {
    const { trigger: type } = one;
    const parts = [...new Set(one.parts.map(achievementId).filter((id) => id !== null))];
    const requires = [...new Set(one.requires.map(achievementId).filter((id) => id !== null))];
    if (type === 'achievement' && parts.length === 0) continue;
    const { id } = builder.achievement(type, {
      name: `${type} ${index}`,
      key: `a${index}`,
      status: one.status,
      requires,
      userAttributes: type === 'api' ? [] : ofPlan(one.plan),
      ...(type === 'metric' && {
        metricId: metrics[one.metric]!.id,
        metricValue: one.amount,
        eventAttributes: ofDeck(one.deck),
        repeat: one.repeat,
        startDate: dayOrNull(one.season?.[0]),
        endDate: dayOrNull(one.season?.[1]),
      }),
      ...(type === 'streak' && { streakLength: one.length }),
      ...(type === 'anniversary' && { anniversaryYears: one.length }),
      ...(type === 'achievement' && { achievementIds: parts }),
    });
    ids.push(id);
  }
  for (const [index, { maxPoints, expiresAfterDays, levels, triggers, boosts, welcome }] of drawn.systems.entries()) {
    const owner = builder.system(`xp${index}`, { maxPoints, expiresAfterDays });
    for (const points of levels) builder.level(owner, `from-${points}`, points);
    for (const one of triggers) addTrigger(one, owner);
    if (welcome !== null) builder.trigger(owner, 'user_creation', { points: welcome, status: 'active' });
    for (const { from, days, user, plan: forPlan, multiplier, rounding } of boosts) {
      const start = day(from);
      const end = days === null ? null : day(from + days);
      builder.boost(owner, { multiplier, rounding, start, end, userId: user, userAttributes: ofPlan(forPlan) });
    }
  }
  // The order in which users are paid at the same moment is undefined, and with it the order of their cohorts.
  const isPaidByTheClock =
    drawn.ranks !== null ||
    builder.catalog.triggers.some(({ type }) => type === 'time') ||
    builder.catalog.achievements.some(({ trigger }) => trigger === 'anniversary');
  const boards = drawn.ranks === null ? drawn.boards : [...drawn.boards, drawn.ranks.board];
  for (const [index, one] of boards.entries()) {
    const systems = builder.catalog.pointsSystems;
    const by = one.by === 'points' && systems.length === 0 ? 'metric' : one.by;
    const isPlain = by === 'streak';
    const hasLeagues = one.leagues !== null && one.run !== null && !isPlain && (by === 'metric' || !isPaidByTheClock);
    builder.leaderboard(`board${index}`, by, {
      ...(by === 'points' && { pointsSystemId: systems[one.of % systems.length]!.id }),
      ...(by === 'metric' && {
        metricId: metrics[one.of]!.id,
        aggregate: one.aggregate,
        order: one.order,
        ties: one.ties,
        ...(one.aggregate !== null &&
          one.ties !== null &&
          one.secondary !== null && { secondaryAttributeId: movesId, secondaryOrder: one.secondary }),
      }),
      status: one.status,
      maxParticipants: one.max,
      start: day(one.from),
      end: one.days === null ? null : day(one.from + one.days),
      startTime: isPlain ? null : (one.hours?.[0] ?? null),
      endTime: isPlain ? null : (one.hours?.[1] ?? null),
      breakdownAttributes: one.split ? [planId] : [],
      keepsMetadata: one.keepsMetadata,
      ...(!one.split &&
        !isPlain &&
        !(by === 'metric' && (one.aggregate !== null || one.order !== null || one.ties !== null)) && {
          teamAttributeId: planId,
          teamsBy: index % 2 === 0 ? 'sum' : 'mean',
          teamMinMembers: 1 + (index % 2),
        }),
      ...(hasLeagues && {
        leagues: {
          ...one.leagues!,
          tiers: Array.from({ length: one.leagues!.tiers }, (_, tier) => ({ name: `Tier ${tier + 1}` })),
        },
      }),
      runUnit: isPlain ? null : ((one.run?.[0] ?? null) as 'day' | null),
      runInterval: isPlain ? null : ((one.run?.[1] ?? null) as number | null),
    });
  }
  for (const [index, one] of (drawn.ranks?.rules ?? []).entries()) addRankRule(one, index);
  const { thresholds, freezes: drawnFreezes, daysOff, ...settings } = drawn.streaks;
  builder.streaks({
    ...settings,
    freezes: freezesOf(drawnFreezes),
    daysOff: settings.frequency === 'daily' ? (daysOff ?? []) : [],
    metrics: thresholds.flatMap((threshold, index) =>
      threshold === null ? [] : [{ metricId: metrics[index]!.id, threshold }],
    ),
  });
  return builder.catalog;

  /** Only of leaderboards that have runs and that the clock pays nothing for. */
  function addRankRule(one: NonNullable<Drawn['ranks']>['rules'][number], index: number): void {
    const { leaderboards, pointsSystems } = builder.catalog;
    const possible = leaderboards.filter(({ runUnit, rankBy }) => runUnit !== null && rankBy === 'metric');
    const on = possible.at(-1 - (one.board % possible.length))!;
    const owner = pointsSystems[one.system % Math.max(1, pointsSystems.length)];
    const ranks = {
      status: one.status,
      leaderboardId: on.id,
      rankFrom: one.from,
      rankTo: 'rank' in one.to ? one.to.rank : null,
      rankPercent: 'percent' in one.to ? one.to.percent : null,
      userAttributes: ofPlan(one.plan),
    };
    const required = one.requires === null ? null : achievementId(one.requires);
    if (one.points === null || owner === undefined)
      builder.achievement('api', {
        ...ranks,
        key: `rank${index}`,
        name: `rank ${index}`,
        requires: required === null ? [] : [required],
      });
    else builder.trigger(owner, 'achievement', { ...ranks, points: one.points });
  }

  function addTrigger(one: Drawn['systems'][number]['triggers'][number], owner: Parameters<typeof builder.trigger>[0]) {
    const of = achievementId(one.achievement);
    if (one.type === 'achievement' && of === null) return;
    const { pointsSystems, levels } = builder.catalog;
    const watched = pointsSystems[one.watched[0] % pointsSystems.length]!;
    const level = levels.find(({ systemId }) => systemId === watched.id);
    builder.trigger(owner, one.type === 'level' ? 'achievement' : one.type, {
      points: one.points,
      status: one.status,
      blockIfOutOfPoints: one.blocks && one.points < 0 && ['metric', 'streak', 'achievement'].includes(one.type),
      userAttributes: ofPlan(one.plan),
      ...(one.type === 'metric' && {
        metricId: metrics[one.metric]!.id,
        metricThreshold: one.threshold,
        eventAttributes: ofDeck(one.deck),
      }),
      ...(one.type === 'streak' && { streakLength: one.length }),
      ...(one.type === 'achievement' && { achievementId: of }),
      ...(one.type === 'level' && {
        pointsSystemId: watched.id,
        levelKey: one.watched[1] ? (level?.key ?? null) : null,
      }),
      ...(one.type === 'time' && {
        timeUnit: one.every[0] as 'hours' | 'days',
        timeInterval: one.every[1] as number,
      }),
    });
  }
}
