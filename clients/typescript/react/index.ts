export {
  LaurelProvider,
  useLaurel,
  useLeaderboard,
  useLiveMessage,
  usePoints,
  useStreak,
  useUser,
  type HookOptions,
  type LaurelProviderProps,
  type Loaded,
} from './hooks.tsx';
export type { AmongView, AroundView, LeaderboardView, TopView } from './resources.ts';
export type { StreamOptions } from './store.ts';
