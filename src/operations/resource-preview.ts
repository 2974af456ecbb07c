import { CatalogIndex } from '../catalog/catalog-index.ts';
import type { ResourceOf } from '../catalog/resource-fields.ts';
import type { Resources } from '../catalog/resources.ts';
import type { Kind } from '../domain/kinds.ts';
import { AppError } from '../errors.ts';
import type { AdminResource } from './resource.ts';
import { createEach, updateEach } from './resource-edit.ts';

/** No resource has it: numbers begin with 1. */
const NO_NUMBER = 0;

/**
 * A resource as an item would make it, new or, where the item has an `id`, changed, with the catalog that it would be part of.
 * Nothing is stored. 422 with what is wrong with it.
 */
export async function previewOf<K extends Kind>(
  resources: Resources,
  { tenantNo, resource, item }: { tenantNo: number; resource: AdminResource<K>; item: object },
): Promise<{ catalog: CatalogIndex; previewed: ResourceOf[K] }> {
  const { id } = item as { id?: string };
  const { result } = await resources.preview(tenantNo, async (draft) => {
    const [outcome] =
      id === undefined
        ? await createEach(draft, resource, { items: [item], systemId: undefined })
        : await updateEach(draft, resource, { items: [{ ...item, id }], systemId: undefined });
    if (typeof outcome !== 'object') throw new AppError('unprocessable', outcome ?? '');
    const stored = draft.get(resource.kind, (outcome as { id: string }).id)!;
    return { catalog: draft.catalog, previewed: id === undefined ? { ...stored, no: NO_NUMBER } : stored };
  });
  return { catalog: new CatalogIndex(result.catalog), previewed: result.previewed };
}
