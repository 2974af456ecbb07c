/** Concurrent queries, and most names per query. */
const QUERIES = 2;
const NAMES_A_QUERY = 500;

interface Wanted<Found> {
  name: string;
  resolve: (found: Found | null) => void;
  reject: (error: unknown) => void;
}

/**
 * Looks up items by name, many per query, in the order of the calls. So a flood of unknown keys costs Postgres little and hardly delays valid ones. If a
 * query fails, all waiting lookups fail with it.
 */
export class GatheredLookup<Found> {
  private readonly findAll: (names: readonly string[]) => Promise<readonly Found[]>;
  private readonly nameOf: (found: Found) => string;
  private waiting: Wanted<Found>[] = [];
  private underWay = 0;

  /** @param findAll returns those of the names that exist */
  constructor(findAll: (names: readonly string[]) => Promise<readonly Found[]>, nameOf: (found: Found) => string) {
    this.findAll = findAll;
    this.nameOf = nameOf;
  }

  /** `null` if the name does not exist. */
  find(name: string): Promise<Found | null> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ name, resolve, reject });
      if (this.underWay < QUERIES) void this.query();
    });
  }

  private async query(): Promise<void> {
    this.underWay += 1;
    const wanted = this.waiting.splice(0, NAMES_A_QUERY);
    try {
      const all = await this.findAll(wanted.map(({ name }) => name));
      const found = new Map(all.map((one) => [this.nameOf(one), one]));
      for (const { name, resolve } of wanted) resolve(found.get(name) ?? null);
    } catch (error) {
      for (const { reject } of [...wanted, ...this.waiting.splice(0)]) reject(error);
    }
    this.underWay -= 1;
    if (this.waiting.length > 0) void this.query();
  }
}
