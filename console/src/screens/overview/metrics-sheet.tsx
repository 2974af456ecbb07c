import { useState } from 'react';
import { one } from '../../api/answer.ts';
import { useChange } from '../../api/change.ts';
import { admin } from '../../api/client.ts';
import type { Metric } from '../../api/queries.ts';
import { Sheet } from '../../ui/dialogs.tsx';
import { Form } from '../../ui/form.tsx';

interface MetricsSheetProps {
  metrics: readonly Metric[];
  open: boolean;
  onClose: () => void;
}

/** Picks the metrics of the Overview for the whole team. */
export const MetricsSheet = ({ metrics, open, onClose }: MetricsSheetProps) => (
  <Sheet open={open} onClose={onClose} title="Metrics on the Overview">
    <Choice metrics={metrics} onSaved={onClose} />
  </Sheet>
);

/** What a person changed stays; the rest shows what is stored, also if it is read again. */
function Choice({ metrics, onSaved }: { metrics: readonly Metric[]; onSaved: () => void }) {
  const [edits, setEdits] = useState<ReadonlyMap<string, boolean>>(new Map());
  const isPicked = ({ id, onOverview }: Metric): boolean => edits.get(id) ?? onOverview === true;
  const changed = metrics
    .filter((metric) => isPicked(metric) !== (metric.onOverview === true))
    .map((metric) => ({ id: metric.id, onOverview: isPicked(metric) }));
  const save = useChange({
    run: async () => {
      await one(admin.PATCH('/v1/metrics', { body: changed }));
      onSaved();
    },
    done: 'Saved for everyone.',
    quiet: true,
  });
  return (
    <Form
      change={{ ...save, curl: () => save.curl() }}
      onSubmit={() => save.mutate()}
      submit="Save"
      isDirty={changed.length > 0}
      incomplete={changed.length === 0}
    >
      <p className="text-muted">
        Everyone who manages this tenant sees these metrics. If none is chosen, the Overview shows the first three.
      </p>
      <div className="flex flex-col">
        {metrics.map((metric) => (
          <label key={metric.id} className="flex items-center gap-2 py-0.5">
            <input
              type="checkbox"
              checked={isPicked(metric)}
              onChange={({ target }) => setEdits(new Map([...edits, [metric.id, target.checked]]))}
            />
            {metric.name}
          </label>
        ))}
      </div>
    </Form>
  );
}
