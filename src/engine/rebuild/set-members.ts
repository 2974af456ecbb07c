/** Sums over a set of IDs, independent of their order. Equal sets have equal sums; different sets almost never do. */
interface Sums {
  count: number;
  low: number;
  high: number;
}

const NONE: Readonly<Sums> = { count: 0, low: 0, high: 0 };

/** FNV-1a; each of the two sums has its own start value. */
function hash(id: string, begin: number): number {
  let value = begin;
  for (let at = 0; at < id.length; at += 1) value = Math.imul(value ^ id.charCodeAt(at), 16_777_619);
  return value;
}

function add(sums: Sums, id: string, times = 1): void {
  sums.count += times;
  sums.low = (sums.low + Math.imul(hash(id, 2_166_136_261), times)) | 0;
  sums.high = (sums.high + Math.imul(hash(id, 1_540_483_477), times)) | 0;
}

/** The members of sorted sets, as sums: one pass notes them, a later one compares them with Redis. Also counts in hashes. */
export class SetMembers {
  private readonly sets = new Map<string, Sums>();

  note(key: string, id: string): void {
    let sums = this.sets.get(key);
    if (sums === undefined) this.sets.set(key, (sums = { ...NONE }));
    add(sums, id);
  }

  /** Whether exactly these members were noted for a set. */
  async areAll(key: string, pieces: AsyncIterable<readonly string[]>): Promise<boolean> {
    const sums = { ...NONE };
    for await (const ids of pieces) for (const id of ids) add(sums, id);
    return this.isNoted(key, sums);
  }

  /** Whether each of these was noted as often as its count, as Redis has it, says, and no others were noted. */
  async areCounted(
    key: string,
    pieces: AsyncIterable<readonly (readonly [id: string, count: string])[]>,
  ): Promise<boolean> {
    const sums = { ...NONE };
    for await (const counts of pieces) for (const [id, count] of counts) add(sums, id, Number(count));
    return this.isNoted(key, sums);
  }

  private isNoted(key: string, sums: Readonly<Sums>): boolean {
    const noted = this.sets.get(key) ?? NONE;
    return noted.count === sums.count && noted.low === sums.low && noted.high === sums.high;
  }
}
