import type { Configuration } from '../../domain/configuration.ts';

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
