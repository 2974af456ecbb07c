/** Everything that keeps this process up, counted by Node's name for its kind. */
export function openResources(): Map<string, number> {
  const counts = new Map<string, number>();
  for (const kind of process.getActiveResourcesInfo()) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

/** Resources that are open and were not `before`, for a person: "2 × TCPSocketWrap". */
export function openedSince(before: ReadonlyMap<string, number>): string[] {
  return [...openResources()].flatMap(([kind, count]) => {
    const more = count - (before.get(kind) ?? 0);
    return more > 0 ? [`${more} × ${kind}`] : [];
  });
}
