interface Drawing {
  readonly apiVersion: string;
  readonly spec?: { readonly width?: number; readonly size?: { readonly width?: number } };
}

interface ConversionReview {
  readonly apiVersion: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Drawing[] };
}

/** v1 keeps the width flat, v2 inside a size. */
export function convert({ apiVersion, request }: ConversionReview): object {
  const convertedObjects = request.objects.map((drawing) => to(request.desiredAPIVersion, drawing));
  const response = { uid: request.uid, result: { status: "Success" }, convertedObjects };
  return { apiVersion, kind: "ConversionReview", response };
}

function to(apiVersion: string, drawing: Drawing): object {
  const width = drawing.spec?.width ?? drawing.spec?.size?.width;
  const spec = apiVersion.endsWith("/v2") ? { size: { width } } : { width };
  return { ...drawing, apiVersion, spec };
}
