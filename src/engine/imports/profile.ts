import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { signUpDay, yearsAt } from '../../domain/anniversary.ts';
import type { ImportedUser } from '../../domain/imported-user.ts';
import { isQuest, periodOf } from '../../domain/repeat.ts';
import { dayIn, similarZone, zoneName, zoneOffset } from '../../domain/zone.ts';
import { AppError } from '../../errors.ts';
import { HIDDEN_BY } from '../../packed/user-fields.ts';
import { newUser } from '../../rules/user.ts';
import { latestOf } from '../achievements/quests.ts';
import { BadImport, type Draft, namedAchievement, SkippedUser } from './draft.ts';
import { sentPreferences } from '../users/preferences.ts';

/** Starts a user's draft with the profile. Throws BadImport for an impossible time, SkippedUser for an unknown zone. */
export function beginDraft(compiled: CompiledCatalog, user: ImportedUser, nowMs: number): Draft {
  const tz = zoneOf(user.tz ?? '');
  const createdMs = user.created === undefined ? nowMs : pastMs('created', user.created, nowMs);
  const updatedMs = user.updated === undefined ? nowMs : pastMs('updated', user.updated, nowMs);
  // Filtered counts start at 0, because the attributes of past events are unknown.
  const state = newUser(createdMs, { freezes: 0, generation: null });
  state.updatedMs = Math.max(createdMs, updatedMs);
  // Earlier midnights count as settled; today's rules apply from here.
  state.settledMs = state.importedMs = nowMs;
  const draft: Draft = {
    compiled,
    nowMs,
    tz,
    today: dayIn(tz, nowMs),
    state,
    days: [],
    completions: [],
    awards: [],
    settlements: [],
    pauses: [],
    tiers: [],
    skipped: [],
    changed: [],
  };
  addContact(draft, user);
  addAttributes(draft, user);
  addSignUp(draft, user);
  addPreferences(draft, user);
  addCompletions(draft, user);
  return draft;
}

/** Epoch ms. Throws BadImport for a leap second: the schema's format allows it, JavaScript's clock does not. */
export function timeMs(field: string, text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms) || ms < 0) throw new BadImport(`${field} is not a time from 1970 on: '${text}'.`);
  return ms;
}

/** A time in the past (epoch ms). Throws BadImport. */
export function pastMs(field: string, text: string, nowMs: number): number {
  const ms = timeMs(field, text);
  if (ms > nowMs) throw new BadImport(`${field} is in the future: '${text}'.`);
  return ms;
}

/** Without a known zone, days and streaks would not follow the user's local days. */
function zoneOf(tz: string): string | null {
  if (tz === '') return null;
  const name = zoneName(tz);
  if (name === null) {
    const hint = similarZone(tz);
    const reason = `'${tz}' is not an IANA time zone${hint === undefined ? '' : `: ${hint}`}`;
    throw new SkippedUser({ field: 'tz', reason, days: 0 });
  }
  return name;
}

function addContact({ state, tz, nowMs }: Draft, user: ImportedUser): void {
  const { name, email, deviceTokens, subscribeToEmails } = user;
  if (name !== undefined && name !== '') state.name = name;
  if (subscribeToEmails === false) state.unsubscribed = true;
  else if (email !== undefined && email !== '') state.email = email;
  if (deviceTokens?.length) state.deviceTokens = JSON.stringify(deviceTokens);
  if (tz === null) return;
  const offset = zoneOffset(tz, nowMs)!;
  state.zone = tz;
  state.offsetSeconds = offset.offsetSeconds;
  state.offsetUntilMs = offset.untilMs;
}

function addAttributes({ compiled, state, skipped }: Draft, { attributes = {} }: ImportedUser): void {
  for (const [key, value] of Object.entries(attributes)) {
    const attribute = compiled.userAttributes.get(key);
    if (attribute === undefined)
      skipped.push({ field: `attributes.${key}`, reason: 'no user attribute has this key', days: 0 });
    else state.attributes.set(attribute.no, value);
  }
}

function addSignUp({ state, tz, today, nowMs }: Draft, { signUpDate }: ImportedUser): void {
  if (signUpDate === undefined || signUpDate === null) return;
  const day = signUpDay(signUpDate);
  if (day === null || day > today) throw new BadImport(`signUpDate is not a past day: '${signUpDate}'.`);
  // The source has counted the years that are over.
  state.signUp = { day, years: yearsAt({ day, years: 0, sinceMs: nowMs }, tz, nowMs), sinceMs: nowMs };
}

function addPreferences({ compiled, state, skipped, today }: Draft, { preferences = {} }: ImportedUser): void {
  const parts = [{ notifications: preferences.notifications }, { streak: preferences.streak }];
  for (const part of parts) {
    try {
      const sent = sentPreferences(compiled, part as typeof preferences);
      const { notifications, streakRule, daysOff } = sent;
      if (notifications !== undefined) state.notifications = notifications;
      if (streakRule !== undefined) state.streakRule = { enabled: null, all: null, metrics: [], ...streakRule };
      if (daysOff !== undefined) state.daysOff = { set: daysOff, fromDay: today, before: null };
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      skipped.push({ field: `preferences.${Object.keys(part)[0]}`, reason: error.message, days: 0 });
    }
  }
  if (preferences.leaderboards?.hidden === true) state.hidden = HIDDEN_BY.user;
}

function addCompletions(draft: Draft, { achievements = [] }: ImportedUser): void {
  const { compiled, state, skipped, nowMs, tz } = draft;
  const { weekStart } = compiled.catalog.streaks;
  // Of several completions of an achievement, or of a period of a repeating one, the last named counts.
  const rows = new Map<string, Draft['completions'][number]>();
  for (const [index, completion] of achievements.entries()) {
    const atMs = pastMs(`achievements[${index}].achievedAt`, completion.achievedAt, nowMs);
    const achievement = namedAchievement(compiled, completion);
    const period = achievement && isQuest(achievement) ? periodOf(achievement, dayIn(tz, atMs), weekStart) : undefined;
    if (period === null)
      skipped.push({
        field: 'achievements',
        reason: `'${achievement!.name}' cannot be completed on that day`,
        days: 0,
      });
    else if (achievement !== undefined) {
      const { no } = achievement;
      state.completions.set(no, period === undefined ? atMs : Math.max(state.completions.get(no) ?? 0, atMs));
      rows.set(`${no} ${period}`, { achievementNo: no, atMs, ...(period !== undefined && { period }) });
    } else {
      const named = completion.key ?? completion.name ?? completion.id;
      skipped.push({ field: 'achievements', reason: `no achievement is '${named}'`, days: 0 });
    }
  }
  draft.completions = [...rows.values()];
}

/** The latest periods of repeating achievements: sums of days, which say nothing of attributes, and completions. */
export function addQuests({ compiled, state, days, completions }: Draft): void {
  const { achievements, streaks } = compiled.catalog;
  for (const quest of achievements.filter(isQuest)) {
    const metricNo = compiled.metricsById.get(quest.metricId ?? '')?.no;
    const done = new Set(
      completions.filter(({ achievementNo }) => achievementNo === quest.no).map((row) => row.period),
    );
    const sums = new Map<number, bigint>(Array.from(done, (period) => [period!, 0n]));
    for (const { day, change } of quest.eventAttributes.length > 0
      ? []
      : days.filter((one) => one.metricNo === metricNo)) {
      const period = periodOf(quest, day, streaks.weekStart);
      if (period === null) continue;
      sums.set(period, (sums.get(period) ?? 0n) + change);
    }
    if (sums.size > 0)
      state.quests.set(quest.no, { times: done.size, periods: latestOf(sums, (period) => done.has(period)) });
  }
}
