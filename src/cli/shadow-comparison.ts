import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { shortened } from '../errors.ts';
import { tableText } from './command.ts';

export interface Answer {
  status: number;
  /** Parsed JSON; `undefined` if the body is empty, not JSON, too long, or packed in an unknown way. */
  body: unknown;
}

/** The subject of an Application API request. */
export interface RequestFacts {
  /** Method and path with names for its parameters, such as `GET /v1/users/{id}/streak`. */
  operation: string;
  /** The user whose state it reads or changes; `null` if there is none, or several. */
  user: string | null;
  writes: boolean;
}

/** A request that the source has answered and that Laurel will answer, too. */
export interface Exchange extends RequestFacts {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Including the query, as the client sent it. */
  path: string;
  /** Alternating names (lower case) and values, as received. */
  headers: readonly string[];
  body: Buffer;
  sourceStatus: number;
  /** Resolves when the source's answer is complete; `null` if it broke off. */
  sourceAnswer: Promise<Answer | null>;
  /** Another request of the same user was in flight at the source, and one of the two was a write. */
  userOverlapped: boolean;
  /** A write of another user was in flight at the source. */
  othersOverlapped: boolean;
  /** The source repeats an earlier answer, and this run does not know whether that one arrived. Not compared. */
  repeats: boolean;
}

/** Maximum size of a body that is compared; the contract's longest ones take about 100 KB. */
export const MOST_COMPARED_BYTES = 2_097_152;

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** Resources of the Application API whose next path segment is a parameter. */
const PARAMETER_AFTER: Readonly<Record<string, string>> = {
  users: '{id}',
  metrics: '{key}',
  points: '{key}',
  leaderboards: '{key}',
  achievements: '{key}',
};

/** The subject of a request; `null` if it is not an Application API request. */
export function requestFacts(method: string, path: string, body: Buffer): RequestFacts | null {
  const [, prefix, ...segments] = path.replace(/[?#].*/s, '').split('/');
  if (!METHODS.includes(method) || !['v1', 'api'].includes(prefix ?? '') || segments.length === 0) return null;
  const named = segments.map((segment, index) => PARAMETER_AFTER[segments[index - 1] ?? ''] ?? segment);
  const writes = method !== 'GET';
  return {
    operation: `${method} /v1/${named.join('/')}`.slice(0, MOST_OPERATION_LENGTH),
    user: segments[0] === 'users' && segments[1] ? decoded(segments[1]) : writes ? userOfBody(body) : null,
    writes,
  };
}

const MOST_OPERATION_LENGTH = 100;

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** `user.id` of an event or a completion, `id` of a created user. */
function userOfBody(body: Buffer): string | null {
  const { user, id } = Object(parsedJson(body)) as { user?: { id?: unknown } | null; id?: unknown };
  const found = user?.id ?? id;
  return typeof found === 'string' ? found : null;
}

export const headerOf = (headers: readonly string[], name: string): string | undefined => {
  for (let index = 0; index < headers.length; index += 2)
    if (headers[index]!.toLowerCase() === name) return headers[index + 1];
  return undefined;
};

/** The headers with one of these names, or with any other name. */
export const headersWhere = (headers: readonly string[], isKept: (name: string) => boolean): string[] =>
  headers.flatMap((_, index) =>
    index % 2 === 0 && isKept(headers[index]!.toLowerCase()) ? [headers[index]!, headers[index + 1]!] : [],
  );

/** The value of a body; `undefined` if there is none to compare. */
export function bodyValue(body: Buffer, encoding: string | undefined): unknown {
  try {
    return parsedJson(unpacked(body, encoding?.toLowerCase() ?? 'identity'));
  } catch {
    return undefined;
  }
}

function unpacked(body: Buffer, encoding: string): Buffer {
  const bounds = { maxOutputLength: MOST_COMPARED_BYTES };
  if (encoding === 'gzip' || encoding === 'x-gzip') return gunzipSync(body, bounds);
  if (encoding === 'br') return brotliDecompressSync(body, bounds);
  if (encoding === 'deflate') return inflateSync(body, bounds);
  if (encoding === 'identity') return body;
  throw new Error(`Unknown encoding ${encoding}`);
}

function parsedJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}

export class Kept {
  private chunks: Uint8Array[] = [];
  private bytes = 0;

  add(chunk: Uint8Array): void {
    this.bytes += chunk.length;
    if (this.bytes <= MOST_COMPARED_BYTES) this.chunks.push(chunk);
    else this.chunks = [];
  }

  /** The whole body; `null` if it is too long to compare. */
  whole(): Buffer | null {
    return this.bytes <= MOST_COMPARED_BYTES ? Buffer.concat(this.chunks) : null;
  }
}

interface Difference {
  /** For example `points.xp.total` or `rankings[].rank`. */
  path: string;
  source: unknown;
  laurel: unknown;
}

interface Comparing {
  /** The client sent its own idempotency key. */
  hasIdempotencyKey: boolean;
  /** Also compare fields that depend on other users, such as ranks. */
  withShared: boolean;
  /** Names or paths of fields that the operator excluded. */
  ignored: readonly string[];
}

/** Fields that only Laurel has. */
export const OWN_FIELDS: readonly string[] = [
  'guarded',
  'guard',
  'action',
  'pendingLeaderboards',
  'levelKey',
  'hidden',
  'idempotencyConflict',
  'achievementProgress',
  'repeat',
  'requires',
  'secret',
  'timesCompleted',
  'period',
  'days',
  'progress',
  'completed',
  'aggregate',
  'order',
  'ties',
  'secondaryAttributeKey',
  'secondaryOrder',
  'secondaryScore',
  'full',
  'percentile',
  'participants',
  'balance',
  'leaderboardId',
  'rankFrom',
  'rankTo',
  'rankPercent',
  'rewards',
  'metadata',
];
const SHARED_FIELDS = ['rank', 'previousRank', 'rankings', 'completions', 'rarity', 'percentileThisPeriod', 'users'];
const IDEMPOTENCY_FIELDS = ['idempotencyKey', 'idempotentReplayed'];

/** IDs that a client chooses are the same on both sides; all others are the server's own. */
const isServerId = (name: string): boolean => /(^id|Ids?)$/.test(name) && name !== 'userId';

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
const isTime = (value: unknown): value is string => typeof value === 'string' && TIME.test(value);
/** Times that differ by less count as equal, since the two servers act one after the other. */
const TIME_TOLERANCE_MS = 86_400_000;
/** Relative: sums of decimals may differ in the last digit. */
const NUMBER_TOLERANCE = 1e-9;

/**
 * The fields in which Laurel's answer differs from the source's. Ignores IDs that a server chooses, times less than a
 * day apart, error texts, Laurel's own fields, `null` compared with a missing field, and the order of named items.
 */
export function differencesOf(source: Answer, laurel: Answer, options: Comparing): Difference[] {
  if (source.status !== laurel.status)
    return [{ path: 'status', source: statusText(source), laurel: statusText(laurel) }];
  if (source.status >= 400) return [];
  const found: Difference[] = [];
  compare(source.body, laurel.body, { path: '', name: '', found, options });
  return found;
}

function statusText({ status, body }: Answer): string | number {
  const error = (Object(body) as { error?: unknown }).error;
  return typeof error === 'string' ? `${status} ${error}` : status;
}

/** Fields whose names are configured keys instead of contract fields. */
const MAPS = ['attributes', 'metrics', 'points', 'leaderboards'];

interface At {
  path: string;
  /** Name of the field itself; empty for list items and for configured keys. */
  name: string;
  found: Difference[];
  options: Comparing;
}

function compare(source: unknown, laurel: unknown, at: At): void {
  if (isIgnored(at)) return;
  if (Array.isArray(source) && Array.isArray(laurel)) compareLists(source, laurel, at);
  else if (isObject(source) && isObject(laurel)) {
    for (const name of new Set([...Object.keys(source), ...Object.keys(laurel)])) {
      const path = at.path === '' ? name : `${at.path}.${name}`;
      compare(own(source, name), own(laurel, name), { ...at, path, name: MAPS.includes(at.name) ? '' : name });
    }
  } else if (!areEqual(source ?? undefined, laurel ?? undefined)) at.found.push({ path: at.path, source, laurel });
}

function isIgnored({ path, name, options }: At): boolean {
  if (OWN_FIELDS.includes(name) || isServerId(name)) return !isUserId(path);
  if (!options.withShared && SHARED_FIELDS.includes(name)) return true;
  if (!options.hasIdempotencyKey && IDEMPOTENCY_FIELDS.includes(name)) return true;
  return options.ignored.some((each) => path === each || path.endsWith(`.${each}`));
}

/** `user.id` of a wrapped year. */
const isUserId = (path: string): boolean => path.endsWith('user.id');

function areEqual(source: unknown, laurel: unknown): boolean {
  if (source === laurel) return true;
  if (typeof source === 'number' && typeof laurel === 'number')
    return Math.abs(source - laurel) <= NUMBER_TOLERANCE * Math.max(Math.abs(source), Math.abs(laurel));
  return isTime(source) && isTime(laurel) && Math.abs(Date.parse(source) - Date.parse(laurel)) < TIME_TOLERANCE_MS;
}

/** Fields that can name a list item. The first one counts that all items have with distinct values. */
const ITEM_NAMES = ['userId', 'key', 'date', 'periodStart', 'from', 'start', 'name'];

function compareLists(source: readonly unknown[], laurel: readonly unknown[], at: At): void {
  const inside = { ...at, path: `${at.path}[]`, name: '' };
  const field = ITEM_NAMES.find((name) => isNameOf(source, name) && isNameOf(laurel, name));
  if (field === undefined) {
    for (let index = 0; index < Math.max(source.length, laurel.length); index += 1)
      compare(source[index], laurel[index], inside);
    return;
  }
  const byName = new Map(laurel.map((item) => [own(item as object, field), item]));
  for (const item of source) {
    const name = own(item as object, field);
    compare(item, byName.get(name), inside);
    byName.delete(name);
  }
  for (const item of byName.values()) compare(undefined, item, inside);
}

function isNameOf(items: readonly unknown[], field: string): boolean {
  const values = items.map((item) => (isObject(item) ? own(item, field) : undefined));
  return (
    values.every((value) => (typeof value === 'string' || typeof value === 'number') && !isTime(value)) &&
    new Set(values).size === values.length
  );
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const own = (value: object, name: string): unknown =>
  Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;

interface Example {
  at: string;
  request: string;
  user: string | null;
  source: unknown;
  laurel: unknown;
}

interface DifferingField {
  operation: string;
  path: string;
  count: number;
  /** How many of these concern users whom this run created in Laurel. */
  ofNewUsers: number;
  examples: Example[];
}

export interface ShadowReport {
  from: string;
  to: string;
  started: string;
  /** `null` while it is running. */
  ended: string | null;
  /** Requests that were forwarded to the source. */
  forwarded: number;
  /** Answers that were compared, and those that were equal. */
  compared: number;
  equal: number;
  /** How many of them were compared without fields that depend on other users, because others wrote at that moment. */
  withoutOthers: number;
  /** Answers that were not compared, by reason. */
  notCompared: Record<string, number>;
  /** Requests that were not sent to Laurel because the queue was full or the run ended. */
  dropped: number;
  /** The proxy's own requests to the source about the creation of users. */
  asked: number;
  setAside: { users: number; examples: { id: string; why: string }[] };
  differences: DifferingField[];
}

const MOST_EXAMPLES = 3;
const MOST_FIELDS = 2_000;
const MOST_USERS_NAMED = 1_000;
const MOST_VALUE_LENGTH = 200;
/** Personal data, of which the report only shows the length. */
const PRIVATE_FIELDS = ['email', 'userName', 'deviceTokens'];

export class Report {
  private readonly fields = new Map<string, DifferingField>();
  private readonly figures: Omit<ShadowReport, 'differences'>;
  /** Texts that must not be shown: API keys. */
  private readonly secrets = new Set<string>();
  private readonly onFirst: (line: string) => void;

  constructor({ from, to, onFirst }: { from: string; to: string; onFirst: (line: string) => void }) {
    this.onFirst = onFirst;
    this.figures = {
      from,
      to,
      started: new Date().toISOString(),
      ended: null,
      forwarded: 0,
      compared: 0,
      equal: 0,
      withoutOthers: 0,
      notCompared: {},
      dropped: 0,
      asked: 0,
      setAside: { users: 0, examples: [] },
    };
  }

  /** Hides a text in the report from now on. */
  hide(secret: string | undefined): void {
    if (secret !== undefined && secret.length >= LEAST_SECRET && this.secrets.size < MOST_SECRETS)
      this.secrets.add(secret);
  }

  count(figure: 'forwarded' | 'asked'): void {
    this.figures[figure] += 1;
  }

  notCompared(reason: string): void {
    const { notCompared } = this.figures;
    notCompared[reason] = (notCompared[reason] ?? 0) + 1;
  }

  drop(reason: string): void {
    this.figures.dropped += 1;
    this.notCompared(reason);
  }

  setAside(id: string, why: string): void {
    const { setAside } = this.figures;
    setAside.users += 1;
    if (setAside.examples.length < MOST_USERS_NAMED) setAside.examples.push({ id: this.text(id), why: this.text(why) });
  }

  compared(
    exchange: Exchange,
    differences: readonly Difference[],
    { withShared, isNewUser }: { withShared: boolean; isNewUser: boolean },
  ): void {
    this.figures.compared += 1;
    if (!withShared) this.figures.withoutOthers += 1;
    if (differences.length === 0) this.figures.equal += 1;
    // A field of a list counts once for each answer.
    const byPath = new Map(differences.toReversed().map((each) => [each.path, each]));
    for (const difference of byPath.values()) this.add(exchange, difference, isNewUser);
  }

  private add(
    { operation, method, path: url, user }: Exchange,
    { path, ...values }: Difference,
    isNewUser: boolean,
  ): void {
    const id = `${operation} ${path}`;
    let field = this.fields.get(id);
    if (field === undefined) {
      if (this.fields.size === MOST_FIELDS) return this.notCompared('of more fields than are reported');
      this.fields.set(id, (field = { operation, path, count: 0, ofNewUsers: 0, examples: [] }));
    }
    field.count += 1;
    if (isNewUser) field.ofNewUsers += 1;
    if (field.examples.length === MOST_EXAMPLES) return;
    field.examples.push({
      at: new Date().toISOString(),
      request: this.text(`${method} ${url}`),
      user: user === null ? null : this.text(user),
      source: this.shown(values.source, path, operation),
      laurel: this.shown(values.laurel, path, operation),
    });
    if (field.count === 1) this.onFirst(`${id}: ${examplesText(field.examples)}`);
  }

  private shown(value: unknown, path: string, operation: string): unknown {
    if (value === undefined) return undefined;
    if (typeof value === 'object' && value !== null)
      return this.text(JSON.stringify(value, (name, each: unknown) => (isPrivate(name, '') ? hidden(each) : each)));
    if (typeof value !== 'string') return value;
    return isPrivate(path, operation) ? hidden(value) : this.text(value);
  }

  /** Removes keys from a text and shortens it for a table. */
  private text(text: string): string {
    for (const secret of this.secrets) text = text.replaceAll(secret, '(key)');
    return shortened(text, MOST_VALUE_LENGTH);
  }

  end(): void {
    this.figures.ended = new Date().toISOString();
  }

  /** Whether something was compared, nothing differs, and nothing was omitted that could make users differ. */
  get isClean(): boolean {
    const { compared, dropped, setAside } = this.figures;
    return compared > 0 && this.fields.size === 0 && dropped === 0 && setAside.users === 0;
  }

  value(): ShadowReport {
    return { ...this.figures, differences: this.byCount() };
  }

  private byCount(): DifferingField[] {
    return [...this.fields.values()].toSorted((a, b) => b.count - a.count);
  }

  line(): string {
    const { forwarded, compared, equal, dropped, setAside } = this.figures;
    return `${forwarded} forwarded, ${compared} compared, ${equal} equal, ${this.fields.size} fields differ, ${dropped} dropped, ${setAside.users} users set aside`;
  }

  toText(): string {
    const { notCompared, setAside, ...figures } = this.figures;
    const fields = this.byCount();
    const reasons = Object.entries(notCompared).toSorted(([, a], [, b]) => b - a);
    const aside = setAside.examples.slice(0, MOST_SHOWN).map(({ id, why }) => [id, why]);
    return [
      tableText(
        ['ANSWERS', ''],
        [
          ['forwarded to the source', figures.forwarded],
          ['compared', figures.compared],
          ['equal', figures.equal],
          ['compared without fields of other users', figures.withoutOthers],
          ['dropped', figures.dropped],
        ],
      ),
      ...(reasons.length > 0 ? ['\n', tableText(['NOT COMPARED, BECAUSE', 'ANSWERS'], reasons)] : []),
      ...(setAside.users > 0 ? ['\n', tableText([`SET ASIDE: ${setAside.users} USERS`, 'WHY'], aside)] : []),
      '\n',
      fields.length === 0
        ? 'No differences.\n'
        : tableText(
            ['OPERATION', 'FIELD', 'ANSWERS', 'OF NEW USERS', 'FOR EXAMPLE'],
            fields
              .slice(0, MOST_SHOWN)
              .map((each) => [each.operation, each.path, each.count, each.ofNewUsers, examplesText(each.examples)]),
          ),
    ].join('');
  }
}

const MOST_SHOWN = 40;
/** Shorter texts would hide ordinary words. */
const LEAST_SECRET = 8;
const MOST_SECRETS = 1_000;

/** `name` is private if it is a user's name. */
function isPrivate(path: string, operation: string): boolean {
  const steps = path.replaceAll('[]', '').split('.');
  return (
    steps.some((step) => PRIVATE_FIELDS.includes(step)) ||
    path === 'user.name' ||
    (path === 'name' && /^\w+ \/v1\/users(\/\{id\})?$/.test(operation))
  );
}

const hidden = (value: unknown): string => `(${String(value).length} characters)`;

const examplesText = ([first]: readonly Example[]): string =>
  `user ${first!.user ?? '-'}: source ${valueText(first!.source)}, Laurel ${valueText(first!.laurel)}`;
const valueText = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value));
