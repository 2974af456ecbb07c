import { groupedReasons, type Reason, type Reported } from '../../domain/import-outcomes.ts';
import { counted, tableText } from '../command.ts';
import { addLines, cutUnfinished, jsonLines } from './json-lines.ts';

const MOST_SHOWN = 40;
/** Users to name with a reason; the file names all. */
const MOST_NAMED = 3;
const READING: readonly Reported['status'][] = ['read', 'unread'];

export class Report {
  readonly file: string;
  private readonly last = new Map<string, Reported['status']>();
  /** The last line about each user that needs attention, for each of the two steps. A later run replaces it. */
  private readonly noted = { reading: new Map<string, Reported>(), sending: new Map<string, Reported>() };

  private constructor(file: string) {
    this.file = file;
  }

  static async open(file: string): Promise<Report> {
    await cutUnfinished(file);
    const report = new Report(file);
    for await (const { value } of jsonLines(file)) report.note(value as Reported);
    return report;
  }

  isDone = (id: string): boolean => ['imported', 'already'].includes(this.last.get(id) ?? '');

  async add(lines: readonly Reported[]): Promise<void> {
    if (lines.length === 0) return;
    await addLines(this.file, lines);
    for (const line of lines) this.note(line);
  }

  private note(line: Reported): void {
    this.last.set(line.id, line.status);
    const noted = READING.includes(line.status) ? this.noted.reading : this.noted.sending;
    const { why, skipped = [], missing = [], unread = [] } = line;
    if (why !== undefined || skipped.length + missing.length + unread.length > 0) noted.set(line.id, line);
    else noted.delete(line.id);
  }

  /** Number of users of whom something was not imported that another run could import. */
  get failed(): number {
    const lost = this.lines.filter(
      ({ why, unread = [], skipped = [] }) =>
        why !== undefined || unread.length > 0 || skipped.some(({ days }) => days > 0),
    );
    return new Set(lost.map(({ id }) => id)).size;
  }

  value(): object {
    return {
      users: Object.fromEntries(this.counts),
      notRead: groupedReasons(this.notRead),
      refused: groupedReasons(this.refused),
      skipped: this.skipped,
      missing: groupedReasons(this.missing),
      file: this.file,
    };
  }

  text(): string {
    const skipped = this.skipped
      .slice(0, MOST_SHOWN)
      .map(({ why, users, days }) => [why, users.length, days, users.slice(0, MOST_NAMED).join(', ')] as const);
    return [
      tableText(['USERS', ''], this.counts),
      reasonsText('NOT READ', this.notRead),
      reasonsText('REFUSED', this.refused),
      ...(skipped.length > 0 ? ['\n', tableText(['SKIPPED', 'USERS', 'DAYS', 'FOR EXAMPLE'], skipped)] : []),
      reasonsText('NOT AVAILABLE OR CHANGED', this.missing),
      `\nEach user: ${this.file}\n`,
    ].join('');
  }

  private get lines(): Reported[] {
    return [...this.noted.reading.values(), ...this.noted.sending.values()];
  }

  private get counts(): [Reported['status'], number][] {
    const counts = new Map<Reported['status'], number>();
    for (const status of ['imported', 'already', 'ready', 'skipped', 'refused', 'unread', 'read'] as const) {
      const count = [...this.last.values()].filter((each) => each === status).length;
      if (count > 0) counts.set(status, count);
    }
    return [...counts];
  }

  private get notRead(): Reason[] {
    return [...this.noted.reading.values()].flatMap(({ id, why, unread = [] }) =>
      (why === undefined ? unread : [why]).map((each) => ({ id, why: each })),
    );
  }

  private get refused(): Reason[] {
    return [...this.noted.sending.values()].flatMap(({ id, status, why }) =>
      why === undefined || status === 'skipped' ? [] : [{ id, why }],
    );
  }

  private get missing(): Reason[] {
    return this.lines.flatMap(({ id, missing = [] }) => missing.map((why) => ({ id, why })));
  }

  /** Skipped users and parts by reason, with the number of days of history in them. */
  private get skipped(): { why: string; users: string[]; days: number }[] {
    const parts = this.lines.flatMap(({ id, status, why, skipped = [] }) => [
      ...(status === 'skipped' ? [{ id, why: why!, days: 0 }] : []),
      ...skipped.map(({ field, reason, days }) => ({ id, why: `${field}: ${reason}`, days })),
    ]);
    return groupedReasons(parts).map((each) => ({
      ...each,
      days: parts.reduce((sum, { why, days }) => sum + (why === each.why ? days : 0), 0),
    }));
  }
}

function reasonsText(title: string, all: readonly Reason[]): string {
  if (all.length === 0) return '';
  const rows = groupedReasons(all)
    .slice(0, MOST_SHOWN)
    .map(({ why, users }) => [why, users.length, users.slice(0, MOST_NAMED).join(', ')] as const);
  const affected = counted(new Set(all.map(({ id }) => id)).size, 'USER');
  return `\n${tableText([`${title}: ${affected}`, 'USERS', 'FOR EXAMPLE'], rows)}`;
}
