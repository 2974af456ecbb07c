import { Slices, sortedInSlices } from '../../pacing/slices.ts';
import { comparePlaces, type Member, type Standing, type RankedBoard, type Standings } from './standings.ts';

/** The standings of some members alone, without a maximum of ranks. A read costs its page, however many members there are. */
export class GivenStandings implements Standings {
  private readonly members: readonly (Member & { rank: number })[];
  private readonly places: ReadonlyMap<string, number>;

  private constructor(members: readonly (Member & { rank: number })[], places: ReadonlyMap<string, number>) {
    this.members = members;
    this.places = places;
  }

  /** Ranks the members, in slices. */
  static async of(given: readonly Member[], board: RankedBoard): Promise<GivenStandings> {
    const sorted = await sortedInSlices(given, (a, b) => comparePlaces(board, a, b));
    const members: (Member & { rank: number })[] = [];
    const places = new Map<string, number>();
    const slices = new Slices();
    for (const [place, member] of sorted.entries()) {
      const before = members[place - 1];
      const isTie = board.ties !== 'first' && before?.score === member.score;
      members.push({ ...member, rank: isTie ? before!.rank : place + 1 });
      places.set(member.userId, place);
      if (slices.over) await slices.turn();
    }
    return new GivenStandings(members, places);
  }

  async page(from: number, count: number): Promise<Member[]> {
    return this.members.slice(from, from + count);
  }

  async rankOf({ userId }: Member): Promise<number> {
    return this.members[this.places.get(userId)!]!.rank;
  }

  async find(userId: string): Promise<Standing | null> {
    const place = this.places.get(userId);
    return place === undefined ? null : { ...this.members[place]!, place, isOn: true };
  }

  async scored(): Promise<number> {
    return this.members.length;
  }

  async participants(): Promise<number> {
    return this.members.length;
  }

  async participantsOf(places: number): Promise<number> {
    return Math.min(places, this.members.length);
  }
}
