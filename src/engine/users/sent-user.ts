import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import { lastDayAnywhere, signUpDay } from '../../domain/anniversary.ts';
import { UpdatedUser, type UpsertedUser } from '../../domain/user.ts';
import { similarZone, zoneName, zoneOffset } from '../../domain/zone.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { AppError } from '../../errors.ts';
import { FUTURE_SIGN_UP } from '../refusals.ts';
import type { SentProfile } from '../../rules/profile.ts';

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
 * with an application key, so the rules refuse changes to fields that only servers may write.
 */
export function sentUser(
  user: Omit<UpsertedUser, 'id'>,
  compiled: CompiledCatalog,
  { nowMs, byClient }: { nowMs: number; byClient: boolean },
): SentProfile | null {
  const sent: SentProfile = {};
  const { tz, deviceTokens } = user;
  if (user.name !== undefined) sent.name = user.name || null;
  if (user.email !== undefined) sent.email = user.email || null;
  // The contract makes these two nullable; `null` means not sent.
  if (deviceTokens !== undefined && deviceTokens !== null)
    sent.deviceTokens = deviceTokens.length === 0 ? null : JSON.stringify(deviceTokens);
  if (user.subscribeToEmails !== undefined) sent.subscribe = user.subscribeToEmails;
  if (user.attributes !== undefined) {
    const keys = Object.keys(user.attributes);
    const unknown = unknownKeys(user.attributes, compiled.userAttributes);
    if (unknown.length > 0) throw invalidKeys(unknown, compiled.userAttributes);
    if (keys.length > 0)
      sent.attributes = new Map(keys.map((key) => [compiled.userAttributes.get(key)!.no, user.attributes![key]!]));
  }
  if (tz !== undefined && tz !== null) sent.zone = tz === '' ? null : sentZone(tz, nowMs);
  if (user.signUpDate !== undefined && user.signUpDate !== null) sent.signUpDay = sentSignUp(user.signUpDate, nowMs);
  if (byClient) {
    const serverOnly = serverOnlyIn(sent, compiled);
    if (serverOnly.length > 0) sent.serverOnly = serverOnly;
  }
  for (const _ in sent) return sent;
  return null;
}

/** Numbers of the sent attributes that only servers may write; 0 for the sign-up date. */
function serverOnlyIn(sent: SentProfile, { catalog, serverAttributes }: CompiledCatalog): number[] {
  const numbers = [...(sent.attributes?.keys() ?? [])].filter((no) => serverAttributes.has(no));
  if (sent.signUpDay !== undefined && catalog.events.signUpDateWritableBy === 'server') numbers.push(0);
  return numbers;
}

/** Refuses a date that is after today in every zone; the rules check it in the user's zone. */
function sentSignUp(text: string, nowMs: number): number {
  const day = signUpDay(text);
  if (day === null) throw new AppError('unprocessable', `user.signUpDate '${text}' is not a calendar day.`);
  if (day > lastDayAnywhere(nowMs)) throw new AppError('unprocessable', FUTURE_SIGN_UP);
  return day;
}

const ZONE_HINT =
  "Send a name such as 'Europe/Berlin'; in a browser, Intl.DateTimeFormat().resolvedOptions().timeZone has it.";

function sentZone(text: string, nowMs: number): string {
  const name = zoneName(text);
  if (name === null || zoneOffset(name, nowMs) === null)
    throw new AppError('unprocessable', `Unknown time zone: user.tz '${text}' is not an IANA name.`, {
      hint: similarZone(text) ?? ZONE_HINT,
    });
  return name;
}
