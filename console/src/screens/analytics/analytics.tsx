import { type ComponentType, lazy, Suspense } from 'react';
import { Screen, Waiting } from '../../ui/parts.tsx';
import { TAB, TAB_BAR } from '../../ui/tabs.ts';
import { AchievementsView } from './achievements-view.tsx';
import { Controls, useShow, useShown } from './controls.tsx';
import { LeaderboardsView } from './leaderboards-view.tsx';
import { MetricsView } from './metrics-view.tsx';
import { PointsView } from './points-view.tsx';
import { RetentionView } from './retention-view.tsx';
import { VIEWS, type View } from './search.ts';
import { StreaksView } from './streaks-view.tsx';
import { UsersView } from './users-view.tsx';

const MessagesView = lazy(async () => ({ default: (await import('./messages-view.tsx')).MessagesView }));

const SHOWN: Readonly<Record<View, { name: string; of: ComponentType; isSegmented?: false }>> = {
  users: { name: 'Users', of: UsersView },
  retention: { name: 'Retention', of: RetentionView },
  metrics: { name: 'Metrics', of: MetricsView },
  achievements: { name: 'Achievements', of: AchievementsView },
  points: { name: 'Points', of: PointsView },
  streaks: { name: 'Streaks', of: StreaksView },
  leaderboards: { name: 'Leaderboards', of: LeaderboardsView, isSegmented: false },
  messages: { name: 'Messages', of: MessagesView, isSegmented: false },
};

/** On a phone, the current tab may be beyond the edge. */
const intoView = (tab: HTMLElement | null): void => tab?.scrollIntoView({ block: 'nearest', inline: 'nearest' });

/** The analytics screen. */
export function Analytics() {
  const { view = 'users' } = useShown();
  const show = useShow();
  const { of: Shown, isSegmented = true } = SHOWN[view];
  return (
    <Screen
      title="Analytics"
      about="How your users do over time, compared with the previous period of the same length."
    >
      <nav aria-label="Analytics" className={TAB_BAR}>
        {VIEWS.map((one) => (
          <button
            key={one}
            type="button"
            aria-current={one === view ? 'page' : undefined}
            ref={one === view ? intoView : undefined}
            className={TAB}
            onClick={() => show({ view: one, id: undefined })}
          >
            {SHOWN[one].name}
          </button>
        ))}
      </nav>
      <Controls isSegmented={isSegmented} />
      <Suspense fallback={<Waiting of="charts" />}>
        <Shown />
      </Suspense>
    </Screen>
  );
}
