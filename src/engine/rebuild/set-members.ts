/** Sums that distinguish two sets of IDs: equal ones have equal sums, whatever the order; others, all but never. */
interface Sums {
  count: number;
  low: number;
  high: number;
}

/** FNV-1a, with another beginning for each of two sums. */
function hash(id: string, begin: number): number {
  let value = begin;
  for (let at = 0; at < id.length; at += 1) value = Math.imul(value ^ id.charCodeAt(at), 16_777_619);
  return value;
}

function add(sums: Sums, id: string): void {
  sums.count += 1;
  sums.low = (sums.low + hash(id, 2_166_136_261)) | 0;
  sums.high = (sums.high + hash(id, 1_540_483_477)) | 0;
}

/** Who is a member of which sorted set, as sums: one pass notes it, a later one compares it with what Redis holds. */
export class SetMembers {
  private readonly sets = new Map<string, Sums>();

  note(key: string, id: string): void {
    let sums = this.sets.get(key);
    if (sums === undefined) this.sets.set(key, (sums = { count: 0, low: 0, high: 0 }));
    add(sums, id);
  }

  /** Whether just these members, in pieces, were noted for a set. */
  async areAll(key: string, pieces: AsyncIterable<readonly string[]>): Promise<boolean> {
    const found = { count: 0, low: 0, high: 0 };
    for await (const ids of pieces) for (const id of ids) add(found, id);
    const noted = this.sets.get(key);
    return noted?.count === found.count && noted.low === found.low && noted.high === found.high;
  }
}
