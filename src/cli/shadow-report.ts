import { shortened } from '../errors.ts';
import { tableText } from './command.ts';
import type { Difference } from './shadow-differences.ts';
import type { Exchange } from './shadow-exchange.ts';

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
