import { expect, test } from 'vitest';
import { compileCatalog } from '../../../src/catalog/compiled-catalog.ts';
import { groupName } from '../../../src/domain/user.ts';
import type { NotificationType } from '../../../src/domain/notifications/notification.ts';
import { NOTIFICATION_EXAMPLES } from '../../../src/domain/notifications/examples.ts';
import { NOTIFICATION_PAYLOADS } from '../../../src/domain/notifications/payloads.ts';
import { dayOf } from '../../../src/domain/periods.ts';
import { WEBHOOK_EVENTS } from '../../../src/domain/notifications/webhook.ts';
import {
  achievementCompleted,
  achievementDue,
  boardPayload,
  boostPayload,
  expiryPayload,
  freezeConsumed,
  freezeEarned,
  levelChanged,
  pointsChanged,
  rankChanged,
  rankRewarded,
  tierChanged,
  userMerged,
  reactivationDue,
  recapDue,
  streakExtended,
  streakLost,
  rewardChanged,
  spendingChanged,
  streakReminderDue,
  userJson,
} from '../../../src/engine/notifications/payloads.ts';
import { triggerResponse } from '../../../src/engine/responses/points.ts';
import { makeAjv } from '../../../src/operations/validation.ts';
import { decodeUser } from '../../../src/rules/user-codec.ts';
import { checkPayload, OWN_EVENTS } from '../../contract/contract.ts';
import { CatalogBuilder } from '../catalog-builder.ts';
import { packedState } from '../persist/outbox-writer.ts';

const AT = Date.UTC(2026, 2, 2, 9, 30);

const builder = new CatalogBuilder();
const plan = builder.attribute('plan', 'user');
const cards = builder.metric('cards');
const shark = builder.achievement('metric', { key: 'shark', metricId: cards.id, metricValue: 10 });
const xp = builder.system('xp');
const silver = builder.level(xp, 'silver', 10);
const gold = builder.level(xp, 'gold', 20);
const trigger = builder.trigger(xp, 'metric', { metricId: cards.id, metricThreshold: 1 });
const boost = builder.boost(xp, { end: '2026-03-02' });
const board = builder.leaderboard('top', 'metric', {
  metricId: cards.id,
  runUnit: 'month',
  runInterval: 1,
  breakdownAttributes: [plan.id],
});
const compiled = compileCatalog(builder.catalog);

const state = decodeUser(packedState({ name: 'Ana', attributes: new Map([[plan.no, 'pro']]) }));
const user = userJson(compiled, { userId: 'ana', state, controlShare: 0 });
const streak = {
  length: 2,
  frequency: 'daily' as const,
  started: '2026-03-01',
  periodStart: '2026-03-02',
  periodEnd: '2026-03-02',
  expires: '2026-03-03',
};
const completion = { compiled, achievement: shark, completedMs: AT, quest: null };
const award = {
  id: 'a',
  awarded: 5,
  date: new Date(AT).toISOString(),
  total: 12,
  trigger: triggerResponse(compiled, trigger),
};
const { spending } = NOTIFICATION_EXAMPLES['points.spent'];
const { claim } = NOTIFICATION_EXAMPLES['reward.claimed'];
const { expiry } = NOTIFICATION_EXAMPLES['points.expired'];
const at = { compiled, board, runDay: dayOf('2026-03-01'), group: groupName(['pro']) };
const place = { rank: 2, value: 12.5, previousRank: null, previousValue: null };
const rankings = [{ userId: 'ana', userName: 'Ana', rank: 1, value: 12.5 }];

const payloads: Record<NotificationType, string> = {
  'achievement.completed': achievementCompleted(user, completion),
  'streak.started': streakExtended('streak.started', user, streak),
  'streak.extended': streakExtended('streak.extended', user, streak),
  'streak.lost': streakLost(user, { length: 7 }),
  'streak.freeze_consumed': freezeConsumed(user, { consumed: 2, freezes: 1 }),
  'streak.freeze_earned': freezeEarned(user, { earned: 1, freezes: 2 }),
  'points.changed': pointsChanged(compiled, user, { system: xp, before: 7, total: 12, awards: [award] }),
  'points.level_changed': levelChanged(user, { system: xp, total: 12, previousLevel: null, newLevel: silver }),
  'points.spent': spendingChanged('points.spent', user, xp, spending),
  'points.refunded': spendingChanged('points.refunded', user, xp, spending),
  'points.expiring': expiryPayload('points.expiring', user, xp, expiry),
  'points.expired': expiryPayload('points.expired', user, xp, expiry),
  'reward.claimed': rewardChanged('reward.claimed', user, claim),
  'reward.fulfilled': rewardChanged('reward.fulfilled', user, claim),
  'reward.cancelled': rewardChanged('reward.cancelled', user, claim),
  'points.boost_started': boostPayload('points.boost_started', boost, xp, AT),
  'points.boost_finished': boostPayload('points.boost_finished', boost, xp, AT),
  'leaderboard.started': boardPayload('leaderboard.started', at, 'scheduled', []),
  'leaderboard.changed': boardPayload('leaderboard.changed', at, 'active', rankings),
  'leaderboard.finished': boardPayload('leaderboard.finished', at, 'finished', rankings),
  'leaderboard.rank_changed': rankChanged(user, at, { ...place, value: 12 }),
  'leaderboard.rewarded': rankRewarded(user, at, {
    status: 'active',
    rank: 2,
    value: 12,
    rewards: { points: { xp: 5 }, achievements: [] },
  }),
  'leaderboard.tier_changed': tierChanged(user, at, {
    status: 'active',
    move: 'up',
    tier: { number: 2, name: 'Silver', badge: { url: 'https://example.com/silver.png' } },
    previousTier: { number: 1, name: 'Bronze', badge: null },
    rank: null,
  }),
  'user.merged': userMerged(user, { from: 'guest', into: 'ana', mergedAt: new Date(AT).toISOString() }),
  'emails.recap_due': recapDue(user, { dueMs: AT, fromDay: dayOf('2026-02-23'), toDay: dayOf('2026-03-01') }),
  'emails.reactivation_due': reactivationDue(user, { dueMs: AT, messageNumber: 1, daysSinceLastActive: 3 }),
  'emails.streak_reminder_due': streakReminderDue(
    user,
    { ...streak, extended: null, streakHistory: [], pauses: [] },
    AT,
  ),
  'emails.achievement_due': achievementDue(user, { compiled, achievement: shark, state, dueMs: AT }),
};
// The contract types leaderboard values as integers; those of a decimal metric are decimals.
const DECIMAL: readonly string[] = ['leaderboard.changed', 'leaderboard.finished'];

test.each(WEBHOOK_EVENTS)("the payload of %s fits the contract's schema and ours", (type) => {
  const payload = JSON.parse(payloads[type]) as { type: string };
  expect(payload.type).toBe(type);
  const ajv = makeAjv();
  expect([ajv.validate(NOTIFICATION_PAYLOADS[type], payload), ajv.errors]).toEqual([true, null]);
  if (!OWN_EVENTS.includes(type))
    checkPayload(
      DECIMAL.includes(type) ? (JSON.parse(payloads[type].replaceAll('12.5', '12')) as typeof payload) : payload,
    );
});

test('a completed period of a repeating achievement is in the payload', () => {
  const daily = builder.achievement('metric', { metricId: cards.id, metricValue: 10, repeat: 'daily' });
  const index = compileCatalog(builder.catalog);
  const payload = JSON.parse(
    achievementCompleted(user, {
      compiled: index,
      achievement: daily,
      completedMs: AT,
      quest: [daily.no, dayOf('2026-03-02'), 3, 12, 500_000, 1],
    }),
  ) as { achievement: object };
  expect(payload.achievement).toMatchObject({
    repeat: 'daily',
    timesCompleted: 3,
    period: { start: '2026-03-02', end: '2026-03-02', progress: 12.5, completed: true },
  });
  expect(makeAjv().validate(NOTIFICATION_PAYLOADS['achievement.completed'], payload)).toBe(true);
});

const parsed = (text: string): Record<string, unknown> => JSON.parse(text) as Record<string, unknown>;

test('a leaderboard has the dates of its run and the values of the group', () => {
  expect(parsed(payloads['leaderboard.changed'])['leaderboard']).toMatchObject({
    key: 'top',
    start: '2026-03-01',
    end: '2026-03-31',
    breakdownAttributeValue: 'pro',
    breakdownAttributeValues: [{ key: 'plan', value: 'pro' }],
    rankings,
  });
});

test('points have a level only if it changed', () => {
  const points = (before: number, total: number): unknown =>
    parsed(pointsChanged(compiled, user, { system: xp, before, total, awards: [] }))['points'];
  expect(points(7, 12)).toMatchObject({ total: 12, added: 5, level: { key: silver.key } });
  expect(points(12, 3)).toMatchObject({ total: 3, added: -9, level: null });
  expect(points(20, 25)).not.toHaveProperty('level');
  expect(points(12, 25)).toMatchObject({ level: { key: gold.key } });
});

test('a user is shown as everywhere else', () => {
  expect(parsed(payloads['streak.lost'])).toMatchObject({
    user: { id: 'ana', name: 'Ana', attributes: { plan: 'pro' }, control: false },
    length: 7,
  });
});
