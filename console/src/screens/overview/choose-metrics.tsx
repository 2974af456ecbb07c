import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { metricsQuery } from '../../api/queries.ts';
import { useMayChange } from '../../api/session.ts';
import { Button } from '../../ui/button.tsx';

/** Loaded when it is opened: dialogs and forms would be a tenth of the first load. */
const MetricsSheet = lazy(async () => ({ default: (await import('./metrics-sheet.tsx')).MetricsSheet }));

/** Opens the choice of the metrics on the Overview. */
export function ChooseMetrics() {
  const mayChange = useMayChange();
  const metrics = useQuery(metricsQuery).data ?? [];
  const [opened, setOpened] = useState<boolean>();
  if (!mayChange || metrics.length === 0) return null;
  return (
    <>
      <Button onClick={() => setOpened(true)}>Choose metrics</Button>
      {opened !== undefined && (
        <Suspense>
          <MetricsSheet metrics={metrics} open={opened} onClose={() => setOpened(false)} />
        </Suspense>
      )}
    </>
  );
}
