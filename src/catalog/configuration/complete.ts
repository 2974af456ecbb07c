import type { Configuration } from '../../domain/configuration.ts';

/**
 * Fills in everything that a document omits from the document of the current configuration: whole lists, parts of points systems, metrics of
 * the streak settings.
 */
export function completeConfiguration(sent: Configuration, present: Required<Configuration>): Required<Configuration> {
  const systems = new Map(present.pointsSystems.map((system) => [system.key, system]));
  const leavesDaily = (sent.streaks?.frequency ?? 'daily') !== 'daily';
  return {
    attributes: sent.attributes ?? present.attributes,
    metrics: sent.metrics ?? present.metrics,
    achievements: sent.achievements ?? present.achievements,
    pointsSystems:
      sent.pointsSystems?.map((system) => {
        const known = systems.get(system.key);
        return {
          ...system,
          levels: system.levels ?? known?.levels ?? [],
          triggers: system.triggers ?? known?.triggers ?? [],
          boosts: system.boosts ?? known?.boosts ?? [],
        };
      }) ?? present.pointsSystems,
    leaderboards: sent.leaderboards ?? present.leaderboards,
    streaks: { ...present.streaks, ...(leavesDaily && { daysOff: [] }), ...sent.streaks },
    events: { ...present.events, ...sent.events },
  };
}
