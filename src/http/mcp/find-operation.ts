import type MiniSearch from 'minisearch';
import { AppError } from '../../errors.ts';
import { didYouMean } from '../../domain/nearest.ts';
import { inOwnTurn } from '../../pacing/turns.ts';
import type { Tool } from './tools.ts';

/** Maximum characters and words of a search: each word is compared with all words of the descriptions. */
const MOST_CHARACTERS = 200;
const MOST_WORDS = 8;
/** Shorter words must match exactly. */
const FUZZY_FROM = 5;
/** Maximum operations in an answer to a search. */
const MOST_FOUND = 12;

const WORDS = /[^\p{L}\p{N}]+/u;
/** Words of questions, which would find the descriptions that happen to have them. */
const IGNORED: ReadonlySet<string> = new Set(['a', 'an', 'and', 'for', 'from', 'how', 'in', 'of', 'on', 'the', 'to']);

/** What a list of operations has about each. `find_operation` with its ID answers the arguments. */
interface Found {
  operation: string;
  title: string;
  changes: boolean;
}

const foundOf = ({ name, title, changes }: Tool): Found => ({ operation: name, title, changes });

/** Finds operations by words, and describes one. */
export class OperationFinder {
  private readonly byName: ReadonlyMap<string, Tool>;
  private index: Promise<MiniSearch> | undefined;

  constructor(tools: readonly Tool[]) {
    this.byName = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /**
   * The operation named by `operation`, with the schema of its arguments; those that fit the words of `query`, best first;
   * or, without both, the IDs of all. Only those that `isAllowed`. Rejects with an `AppError` for an unknown ID or an unusable query.
   */
  async find(
    { query, operation }: Readonly<Record<string, unknown>>,
    isAllowed: (tool: Tool) => boolean,
  ): Promise<object> {
    if (operation !== undefined) {
      if (query !== undefined) throw new AppError('invalid', 'Give query or operation, not both');
      const { title, description, changes, inputSchema } = this.named(operation, isAllowed);
      return { operation, title, description, changes, inputSchema };
    }
    if (query === undefined) return { ids: [...this.byName.values()].filter(isAllowed).map(({ name }) => name) };
    if (typeof query !== 'string' || query.length > MOST_CHARACTERS)
      throw new AppError('invalid', `query must be text of at most ${MOST_CHARACTERS} characters`);
    const words = query.split(WORDS).slice(0, MOST_WORDS).join(' ');
    const index = await inOwnTurn((this.index ??= indexOf(this.byName.values())));
    const tools = index.search(words).map(({ id }) => this.byName.get(id as string)!);
    return { operations: tools.filter(isAllowed).slice(0, MOST_FOUND).map(foundOf) };
  }

  /** The operation with this ID. Throws 404 with a similar ID if there is none that `isAllowed`. */
  named(id: unknown, isAllowed: (tool: Tool) => boolean): Tool {
    if (typeof id !== 'string') throw new AppError('invalid', 'operation must be the ID of an operation');
    const tool = this.byName.get(id);
    if (tool !== undefined && isAllowed(tool)) return tool;
    const allowed = [...this.byName.values()].filter(isAllowed).map(({ name }) => name);
    // Only some candidates are compared, and there are more operations.
    const likeliest = allowed.toSorted((a, b) => sharedStart(b, id) - sharedStart(a, id));
    const hint = didYouMean(id, likeliest) ?? 'find_operation lists the operations.';
    throw new AppError('not_found', `There is no operation ${id.slice(0, MOST_CHARACTERS)} for this key`, { hint });
  }
}

/** How many characters two names have in common at their start. */
function sharedStart(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

/** The words of the operations. Built by the first search, in pieces, because most processes never need it. */
async function indexOf(tools: Iterable<Tool>): Promise<MiniSearch> {
  const { default: Index } = await import('minisearch');
  const index = new Index({
    idField: 'name',
    fields: ['name', 'title', 'description', 'names'],
    tokenize: (text) => text.split(WORDS).filter((word) => word !== ''),
    processTerm: (word) => (IGNORED.has(word.toLowerCase()) ? null : word.toLowerCase()),
    searchOptions: {
      boost: { name: 4, title: 2 },
      prefix: (word) => word.length > 2,
      fuzzy: (word) => (word.length < FUZZY_FROM ? false : 0.2),
    },
  });
  const documents = [...tools].map(({ name, title, description, inputSchema }) => ({
    name,
    title,
    description,
    names: fieldNames(inputSchema).join(' '),
  }));
  await index.addAllAsync(documents, { chunkSize: 10 });
  return index;
}

/** The names of all fields of a schema, at every depth. */
function fieldNames(schema: object): string[] {
  return Object.entries(schema).flatMap(([name, value]: [string, unknown]) => {
    if (typeof value !== 'object' || value === null) return [];
    return [...(name === 'properties' ? Object.keys(value) : []), ...fieldNames(value)];
  });
}
