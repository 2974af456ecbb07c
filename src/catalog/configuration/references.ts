import type { Configuration, ConfiguredCondition } from '../../domain/configuration.ts';
import type { AttributeCondition } from '../../domain/schemas.ts';

/** A problem at a path of the document, e.g. `achievements[2].metricKey`. */
export interface DocumentProblem {
  path: string;
  text: string;
}

export type Noun =
  | 'metric'
  | 'points system'
  | 'achievement'
  | 'achievement without a key'
  | 'achievement ID'
  | 'user attribute'
  | 'event attribute';

/** Resolves the keys of a document to IDs. Unknown keys are added to `problems`. */
export class References {
  readonly problems: DocumentProblem[] = [];
  private readonly ids = new Map<string, string>();
  /** Names that are not unique. */
  private readonly shared = new Set<string>();
  private readonly leftOut = new Set<string>();
  private readonly ownerAt: (path: string) => string | null;

  /** @param ownerAt describes a path of the document for a person */
  constructor(ownerAt: (path: string) => string | null) {
    this.ownerAt = ownerAt;
  }

  /** Registers a key that exists now, and ceases to exist if the document does not name it. */
  addPresent(noun: Noun, key: string): void {
    this.leftOut.add(`${noun}:${key}`);
  }

  add(noun: Noun, key: string, id: string): void {
    const named = `${noun}:${key}`;
    const known = this.ids.get(named);
    if (known === undefined) this.ids.set(named, id);
    else if (known !== id) this.shared.add(named);
  }

  /** The ID for a key. `null` if the key is absent, or (with a problem) if it is unknown or its name is not unique. */
  find(noun: Noun, key: string | null | undefined, path: string): string | null {
    if (key === null || key === undefined) return null;
    const named = `${noun}:${key}`;
    if (noun === 'achievement without a key' && this.shared.has(named)) {
      const text = `more than one achievement without a key is called '${key}': refer to it by its ID, or give it a key`;
      this.problems.push({ path, text });
      return null;
    }
    const id = this.ids.get(named);
    if (id !== undefined) return id;
    this.problems.push({ path, text: `unknown ${noun} '${key}'${this.hint(noun, key, path)}` });
    return null;
  }

  findAll(noun: Noun, keys: string[] | undefined, path: string): string[] {
    return (keys ?? []).flatMap((key, index) => this.find(noun, key, `${path}[${index}]`) ?? []);
  }

  conditions(type: 'user' | 'event', given: ConfiguredCondition[] | undefined, path: string): AttributeCondition[] {
    const field = `${path}.${type}Attributes`;
    return (given ?? []).flatMap(({ key, value }, index) => {
      const attributeId = this.find(`${type} attribute`, key, `${field}[${index}].key`);
      return attributeId === null ? [] : [{ attributeId, attributeValue: value }];
    });
  }

  private hint(noun: Noun, key: string, path: string): string {
    if (this.leftOut.has(`${noun}:${key}`))
      return `: the document leaves it out, but ${this.ownerAt(path) ?? 'this'} refers to it`;
    if (noun === 'user attribute' && this.ids.has(`event attribute:${key}`)) return ' (it is an event attribute)';
    if (noun === 'event attribute' && this.ids.has(`user attribute:${key}`)) return ' (it is a user attribute)';
    return '';
  }
}

const NAMES: [RegExp, string][] = [
  [/^metricId$/, 'metricKey'],
  [/\.metricId$/, '.metricKey'],
  [/^achievementId$/, 'achievementKey'],
  [/^achievementIds/, 'achievementKeys'],
  [/^pointsSystemId$/, 'pointsSystemKey'],
  [/\.attributeId$/, '.key'],
  [/\.attributeValue$/, '.value'],
  [/^badgeUrl$/, 'badge.url'],
];

/**
 * Translates a stored field to the document's terms: `userAttributes[0].attributeId` → `userAttributes[0].key`. A composite's parts are listed by
 * key, then by name, then by ID; `keys` and `names` are the numbers of the first two.
 */
export function documentPath(field: string, { keys = 0, names = 0 }: { keys?: number; names?: number } = {}): string {
  const part = /^achievementIds\[(\d+)\]$/.exec(field);
  const at = Number(part?.[1]);
  if (at >= keys + names) return `achievementIds[${at - keys - names}]`;
  if (at >= keys) return `achievementNames[${at - keys}]`;
  return NAMES.reduce((path, [pattern, name]) => path.replace(pattern, name), field);
}

/** Describes what a path of a document refers to, for a person; `null` for a whole list. */
export function ownerAt({ document, path }: { document: Required<Configuration>; path: string }): string | null {
  if (path.startsWith('streaks.')) return 'the streak settings';
  const [, list, index, part, partIndex] = /^(\w+)\[(\d+)\](?:\.(triggers|boosts)\[(\d+)\])?/.exec(path) ?? [];
  const at = Number(index);
  if (list === 'achievements') {
    const { key, name } = document.achievements[at]!;
    return `achievement '${key ?? name}'`;
  }
  if (list === 'leaderboards') return `leaderboard '${document.leaderboards[at]!.key}'`;
  if (list !== 'pointsSystems' || part === undefined) return null;
  const system = document.pointsSystems[at]!;
  const of = ` of points system '${system.key}'`;
  if (part === 'boosts') return `boost '${system.boosts![Number(partIndex)]!.name}'${of}`;
  return `${system.triggers![Number(partIndex)]!.type} trigger${of}`;
}
