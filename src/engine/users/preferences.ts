import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { weekdaySet, weekdaysOf } from '../../domain/periods.ts';
import { MAX_VALUE } from '../../domain/event.ts';
import { toDecimal, decimalNumber } from '../../domain/decimal.ts';
import type {
  NotificationPreferences,
  StreakPreferences,
  UpdateUserPreferencesRequest,
  UserPreferencesResponse,
} from '../../domain/notifications/preferences.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { AppError } from '../../errors.ts';
import type { User } from '../../rules/user.ts';
import type { SentProfile } from '../../rules/profile.ts';
import type { Threshold } from '../../rules/user.ts';
import { hidesItself } from '../responses/users.ts';

/** Kinds of notification, in the order of their digits in the packed text. */
const KINDS = ['achievement_completed', 'recap', 'reactivation', 'streak_reminder'] as const;
/** A digit is the sum of its channels. */
const CHANNELS = { email: 1, push: 2 } as const;
const NOT_SENT = '-';
const EVERY_CHANNEL = 3;

/**
 * Checks sent preferences against the catalog. Throws 403 for a streak's metrics, mode or days off if personalization
 * is off (`enabled` is always allowed); 422 for an unknown or repeated metric, a threshold that is not above 0, or days
 * off if streaks are not daily.
 */
export function sentPreferences(compiled: CompiledCatalog, request: UpdateUserPreferencesRequest): SentProfile {
  const sent: SentProfile = {};
  const { notifications, streak } = request;
  if (notifications !== undefined && KINDS.some((kind) => notifications[kind] !== undefined)) {
    sent.notifications = KINDS.map((kind) => channelsDigit(notifications[kind])).join('');
  }
  if (streak !== undefined) {
    const { enabled, evaluationMode, metrics, daysOff } = streak;
    const isPersonal = evaluationMode !== undefined || metrics !== undefined || daysOff !== undefined;
    if (isPersonal && !compiled.catalog.streaks.personalization) {
      throw new AppError(
        'forbidden',
        "A streak's evaluationMode, metrics and daysOff cannot be set: personalization of streaks is off.",
      );
    }
    if (enabled !== undefined || evaluationMode !== undefined || metrics !== undefined) {
      sent.streakRule = {
        ...(enabled !== undefined && { enabled }),
        ...(evaluationMode !== undefined && { all: evaluationMode === 'AND' }),
        ...(metrics !== undefined && { metrics: sentMetrics(compiled, metrics) }),
      };
    }
    if (daysOff !== undefined) sent.daysOff = sentDaysOff(compiled, daysOff);
  }
  return sent;
}

const channelsDigit = (channels: ('email' | 'push')[] | undefined): string =>
  channels === undefined
    ? NOT_SENT
    : String([...new Set(channels)].reduce((digit, channel) => digit + CHANNELS[channel], 0));

function sentDaysOff({ catalog }: CompiledCatalog, daysOff: readonly number[]): number {
  if (daysOff.length > 0 && catalog.streaks.frequency !== 'daily')
    throw new AppError('unprocessable', 'streak.daysOff: only while the frequency of streaks is daily.');
  return weekdaySet(daysOff);
}

function sentMetrics(compiled: CompiledCatalog, metrics: NonNullable<StreakPreferences['metrics']>): Threshold[] {
  const seen = new Set<string>();
  return metrics.map(({ key, threshold }) => {
    const metric = compiled.metrics.get(key);
    if (metric === undefined)
      throw new AppError('unprocessable', `streak.metrics: unknown metric '${key}'.`, {
        hint: didYouMean(key, compiled.metrics.keys()),
      });
    if (seen.has(key)) throw new AppError('unprocessable', `streak.metrics: '${key}' is given twice.`);
    seen.add(key);
    const { whole, micros } = toDecimal(Math.min(threshold, MAX_VALUE));
    if (threshold > MAX_VALUE || whole < 0 || (whole === 0 && micros <= 0)) {
      throw new AppError(
        'unprocessable',
        `streak.metrics: the threshold of '${key}' must be above 0 and at most 1e12.`,
      );
    }
    return { metric: metric.no, whole, micros };
  });
}

export function notificationPreferences(state: User): Required<NotificationPreferences> {
  const entries = KINDS.map((kind, index) => {
    const digit = state.notifications?.[index] ?? NOT_SENT;
    const bits = digit === NOT_SENT ? EVERY_CHANNEL : Number(digit);
    return [kind, (['email', 'push'] as const).filter((channel) => bits & CHANNELS[channel])];
  });
  return Object.fromEntries(entries) as Required<NotificationPreferences>;
}

/** A user's preferences. Without personalization, `enabled` is the only one about the streak. */
export function preferencesResponse(compiled: CompiledCatalog, state: User): UserPreferencesResponse {
  const notifications = notificationPreferences(state);
  const leaderboards = hidesItself(state) ? { leaderboards: { hidden: true } } : {};
  const rule = state.streakRule;
  const enabled = rule?.enabled ?? true;
  if (!compiled.catalog.streaks.personalization) return { notifications, ...leaderboards, streak: { enabled } };
  const daily = compiled.catalog.streaks.frequency === 'daily';
  const metrics = (rule?.metrics ?? []).flatMap(({ metric: no, ...threshold }) => {
    const metric = compiled.metricsByNo.get(no);
    return metric === undefined ? [] : [{ key: metric.key, threshold: decimalNumber(threshold) }];
  });
  return {
    notifications,
    ...leaderboards,
    streak: {
      enabled,
      ...(rule !== null && rule.all !== null && { evaluationMode: rule.all ? ('AND' as const) : ('OR' as const) }),
      ...(metrics.length > 0 && { metrics }),
      ...(daily && state.daysOff !== null && { daysOff: weekdaysOf(state.daysOff.set) }),
    },
  };
}
