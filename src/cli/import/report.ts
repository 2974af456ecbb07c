import { addLines, cutUnfinished, jsonLines } from './json-lines.ts';
import { tableText } from '../table.ts';

/** What became of a user, as the report's file has it: one line a step. */
export interface Reported {
  id: string;
  /** `read`: it is in the file of users; `unread` and `refused` say why. */
  status: 'read' | 'unread' | 'imported' | 'already' | 'ready' | 'refused';
  why?: string;
  missing?: string[];
  /** Of a user who was read: the parts that the source refused to give. */
  unread?: string[];
}

/** The report of an import: a file that says of each user what became of it, and what could not be had. */
export class Report {
  readonly file: string;
  /** Users who are imported, or were refused: by their last lines. */
  private readonly last = new Map<string, Reported['status']>();
  private readonly missing = new Map<string, number>();
  /** What could not be had of a user, when it was read and when it was sent, as said last: a dry run may be made many times. */
  private readonly missingOf = new Map<string, readonly string[]>();
  /** Why users or parts of them were not read, and why users were refused, by user: as reported last. */
  private readonly failures = {
    unread: new Map<string, readonly string[]>(),
    refused: new Map<string, readonly string[]>(),
  };

  private constructor(file: string) {
    this.file = file;
  }

  /** Opens one, with what runs before have left. */
  static async open(file: string): Promise<Report> {
    await cutUnfinished(file);
    const report = new Report(file);
    for await (const { value } of jsonLines(file)) report.note(value as Reported);
    return report;
  }

  /** Whether a user is here already. */
  isDone = (id: string): boolean => ['imported', 'already'].includes(this.last.get(id) ?? '');

  async add(lines: readonly Reported[]): Promise<void> {
    if (lines.length === 0) return;
    await addLines(this.file, lines);
    for (const line of lines) this.note(line);
  }

  private note({ id, status, why = '', missing = [], unread = [] }: Reported): void {
    this.last.set(id, status);
    if (status === 'read' || status === 'unread') set(this.failures.unread, id, status === 'unread' ? [why] : unread);
    else set(this.failures.refused, id, status === 'refused' ? [why] : []);
    const said = `${status === 'read' || status === 'unread' ? 'read' : 'sent'} ${id}`;
    for (const each of this.missingOf.get(said) ?? []) this.missing.set(each, this.missing.get(each)! - 1);
    for (const each of missing) this.missing.set(each, (this.missing.get(each) ?? 0) + 1);
    if (missing.length > 0) this.missingOf.set(said, missing);
    else this.missingOf.delete(said);
  }

  count(status: Reported['status']): number {
    return [...this.last.values()].filter((each) => each === status).length;
  }

  /** How many users could not be read, wholly or in parts, or were refused. */
  get failed(): number {
    return new Set([...this.failures.unread.keys(), ...this.failures.refused.keys()]).size;
  }

  /** Figures for a terminal, then why users failed, then what could not be had, the most frequent first. */
  text(): string {
    const figures = (['imported', 'already', 'ready', 'refused', 'unread', 'read'] as const)
      .map((status) => [status, this.count(status)] as const)
      .filter(([, count]) => count > 0);
    const missing = [...this.missing]
      .filter(([, count]) => count > 0)
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, MOST_SHOWN);
    return [
      tableText(['USERS', ''], figures),
      ...failuresText(`NOT READ, OF ${this.failures.unread.size} USERS`, this.failures.unread),
      ...failuresText(`REFUSED, OF ${this.failures.refused.size} USERS`, this.failures.refused),
      ...(missing.length > 0 ? ['\n', tableText(['COULD NOT BE HAD', 'TIMES'], missing)] : []),
      `\nEach user: ${this.file}\n`,
    ].join('');
  }
}

const MOST_SHOWN = 40;
/** Most users that are named with a reason; the file names all. */
const MOST_NAMED = 3;

function set(failures: Map<string, readonly string[]>, id: string, whys: readonly string[]): void {
  if (whys.length > 0) failures.set(id, whys);
  else failures.delete(id);
}

/** Each reason with the number of its users and the first of them; a reason that names its user is counted with the others. */
function failuresText(head: string, failures: ReadonlyMap<string, readonly string[]>): string[] {
  const users = new Map<string, string[]>();
  for (const [id, whys] of failures)
    for (const why of new Set(whys.map((each) => each.replaceAll(id, '…'))))
      users.set(why, [...(users.get(why) ?? []), id]);
  const rows = [...users]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .slice(0, MOST_SHOWN)
    .map(([why, ids]) => [why, ids.length, ids.slice(0, MOST_NAMED).join(', ')] as const);
  return rows.length === 0 ? [] : ['\n', tableText([head, 'USERS', 'FOR EXAMPLE'], rows)];
}
