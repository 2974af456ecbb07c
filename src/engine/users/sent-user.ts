import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { lastDayAnywhere, signUpDay } from '../../domain/anniversary.ts';
import { UpdatedUser, type UpsertedUser } from '../../domain/user.ts';
import { zoneName, zoneOffset } from '../../domain/zone.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { AppError } from '../../errors.ts';
import { FUTURE_SIGN_UP } from '../refusals.ts';
import { SENT } from '../../packed/call-fields.ts';
import type { SentProfile } from '../../rules/profile.ts';

/** The user fields of a request in the script's form (SENT), see `lua/lib/admit_user.lua`. `false` clears a field. */
export interface SentUser {
  [SENT.name]?: string | false;
  [SENT.email]?: string | false;
  [SENT.deviceTokens]?: string | false;
  [SENT.subscribe]?: boolean;
  [SENT.attributes]?: Record<number, string>;
  [SENT.zone]?: string | false;
  [SENT.renewedZone]?: string;
  [SENT.offsetSeconds]?: number;
  [SENT.offsetUntilMs]?: number;
  [SENT.leftZone]?: string;
  [SENT.leftOffsetSeconds]?: number;
  [SENT.signUpDay]?: number;
  [SENT.serverOnly]?: number[];
}

const PROFILE_FIELDS = Object.keys(UpdatedUser.properties) as (keyof UpdatedUser)[];

type Sent = Readonly<Record<string, string>> | undefined;

const unknownKeys = (sent: Sent, known: ReadonlyMap<string, unknown>): string[] =>
  Object.keys(sent ?? {}).filter((key) => !known.has(key));

/** A 422 that names the keys; the hint is about the first one. */
const invalidKeys = (keys: readonly string[], known: ReadonlyMap<string, unknown>): AppError =>
  new AppError(
    'unprocessable',
    `Invalid attribute keys: ${keys.join(', ')}. Attribute keys must match those set up in the dashboard.`,
    { hint: didYouMean(keys[0]!, known.keys()) },
  );

/** Throws 422 for unknown attributes of an event, naming the user's unknown ones as well. */
export function rejectUnknownAttributes(
  { user, attributes }: { user: { attributes?: Sent }; attributes?: Sent },
  compiled: CompiledCatalog,
): void {
  if (attributes === undefined) return;
  const unknown = unknownKeys(attributes, compiled.eventAttributes);
  if (unknown.length === 0) return;
  throw invalidKeys(
    [...new Set([...unknown, ...unknownKeys(user.attributes, compiled.userAttributes)])],
    compiled.eventAttributes,
  );
}

/** Throws 422 if a user has more than an ID, for keys of the scope `events`. */
export function rejectProfile(user: UpsertedUser): void {
  for (const field of PROFILE_FIELDS) {
    const value = user[field];
    if (value === undefined || value === null || (field === 'attributes' && Object.keys(value).length === 0)) continue;
    throw new AppError(
      'unprocessable',
      `user.${field} may not be sent with this API key: its scope 'events' allows no field of the user but the ID.`,
    );
  }
}

/**
 * Checks the sent user fields against the catalog. Returns `null` if only the ID was sent. Throws 422. `byClient`: sent
 * with an application key, so the script refuses changes to fields that only servers may write.
 */
export function sentUser(
  user: Omit<UpsertedUser, 'id'>,
  compiled: CompiledCatalog,
  { nowMs, byClient }: { nowMs: number; byClient: boolean },
): SentUser | null {
  const sent: SentUser = {};
  const { tz, deviceTokens } = user;
  if (user.name !== undefined) sent[SENT.name] = user.name === '' ? false : user.name;
  if (user.email !== undefined) sent[SENT.email] = user.email === '' ? false : user.email;
  // The contract makes these two nullable; `null` means not sent.
  if (deviceTokens !== undefined && deviceTokens !== null)
    sent[SENT.deviceTokens] = deviceTokens.length === 0 ? false : JSON.stringify(deviceTokens);
  if (user.subscribeToEmails !== undefined) sent[SENT.subscribe] = user.subscribeToEmails;
  if (user.attributes !== undefined) {
    const keys = Object.keys(user.attributes);
    const unknown = unknownKeys(user.attributes, compiled.userAttributes);
    if (unknown.length > 0) throw invalidKeys(unknown, compiled.userAttributes);
    if (keys.length > 0) {
      const attributes: Record<number, string> = {};
      for (const key of keys) attributes[compiled.userAttributes.get(key)!.no] = user.attributes[key]!;
      sent[SENT.attributes] = attributes;
    }
  }
  if (tz !== undefined && tz !== null) Object.assign(sent, tz === '' ? { [SENT.zone]: false } : inZone(tz, nowMs));
  if (user.signUpDate !== undefined && user.signUpDate !== null)
    sent[SENT.signUpDay] = sentSignUp(user.signUpDate, nowMs);
  if (byClient) {
    const serverOnly = serverOnlyIn(sent, compiled);
    if (serverOnly.length > 0) sent[SENT.serverOnly] = serverOnly;
  }
  for (const _ in sent) return sent;
  return null;
}

/** Numbers of the sent attributes that only servers may write, for `SENT.serverOnly`. */
function serverOnlyIn(sent: SentUser, { catalog, serverAttributes }: CompiledCatalog): number[] {
  const numbers: number[] = [];
  for (const no in sent[SENT.attributes]) if (serverAttributes.has(Number(no))) numbers.push(Number(no));
  if (sent[SENT.signUpDay] !== undefined && catalog.events.signUpDateWritableBy === 'server') numbers.push(0);
  return numbers;
}

/** Refuses a date that is after today in every zone; the script checks the user's zone. */
function sentSignUp(text: string, nowMs: number): number {
  const day = signUpDay(text);
  if (day === null) throw new AppError('unprocessable', `user.signUpDate '${text}' is not a calendar day.`);
  if (day > lastDayAnywhere(nowMs)) throw new AppError('unprocessable', FUTURE_SIGN_UP);
  return day;
}

function inZone(text: string, nowMs: number): SentUser {
  const name = zoneName(text);
  const zone = name === null ? null : zoneOffset(name, nowMs);
  if (name === null || zone === null)
    throw new AppError('unprocessable', `Unknown time zone: user.tz '${text}' is not an IANA name.`);
  return { [SENT.zone]: name, [SENT.offsetSeconds]: zone.offsetSeconds, [SENT.offsetUntilMs]: zone.untilMs };
}

/** The fields with the current offset of the user's stored zone, which the script asked for. */
export function withZone(sent: SentUser | null, tz: string, nowMs: number): SentUser {
  // The zone was checked when it was stored. If this machine no longer knows it, it counts as UTC.
  const zone = zoneOffset(tz, nowMs) ?? { offsetSeconds: 0, untilMs: nowMs + 3_600_000 };
  const sentZone = sent?.[SENT.zone];
  if (sentZone !== undefined && sentZone !== tz)
    return { ...sent, [SENT.leftZone]: tz, [SENT.leftOffsetSeconds]: zone.offsetSeconds };
  return {
    ...sent,
    [SENT.renewedZone]: tz,
    [SENT.offsetSeconds]: zone.offsetSeconds,
    [SENT.offsetUntilMs]: zone.untilMs,
  };
}

/** The user fields of a request as the rules take them. */
export function sentProfile(sent: SentUser): SentProfile {
  const profile: SentProfile = {};
  const { [SENT.name]: name, [SENT.email]: email, [SENT.deviceTokens]: tokens, [SENT.zone]: zone } = sent;
  const { [SENT.subscribe]: subscribe, [SENT.attributes]: attributes, [SENT.signUpDay]: signUp } = sent;
  const { [SENT.serverOnly]: serverOnly } = sent;
  if (name !== undefined) profile.name = name || null;
  if (email !== undefined) profile.email = email || null;
  if (tokens !== undefined) profile.deviceTokens = tokens || null;
  if (subscribe !== undefined) profile.subscribe = subscribe;
  if (attributes !== undefined)
    profile.attributes = new Map(Object.entries(attributes).map(([no, value]) => [Number(no), value]));
  if (zone !== undefined) profile.zone = zone || null;
  if (signUp !== undefined) profile.signUpDay = signUp;
  if (serverOnly !== undefined) profile.serverOnly = serverOnly;
  return profile;
}
